/* near.h: what stands near at one time, and how much of which cache it may take: N(name, cache, part in 32nds, what it is, for people).  A half and less
 * of a cache, since what streams past takes its share; where two stand there together, their parts do. */
N(panel_l1,   l1_bytes, 16, "a panel that tiles read from L1")
N(panel,      l2_bytes, 12, "a panel of b over all of its terms")
N(panel_pass, l2_bytes,  4, "a pass's part of a panel")
N(group,      l2_bytes,  8, "the rows of a for a group of blocks")
N(twice,      l2_bytes,  8, "a panel that is not packed for two blocks alone")
N(patches,    l2_bytes,  4, "the patches of a group")
N(turned,     l2_bytes,  1, "rows of results that are turned together")
N(steps,      l2_bytes,  8, "what lies between the steps of a block")
N(weights,    l2_bytes, 16, "weights that each block reads anew")
N(tiles,      l2_bytes, 16, "Winograd's values and products of a group of tiles")
N(tiles_far,  l2_bytes, 24, "the same, where weights come from further away")
N(all,        l2_bytes, 32, "weights that come from further away with each block")
