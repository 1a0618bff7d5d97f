"""What a tip reaches, as points in the scene: `mapping` finds them beside all else, `panel` shows
them on the page.
"""
