/* near.h: what stands near at one time, and how much of which cache it may take: N(name, cache, part in 32nds, most, what it is, for people).  A half and less
 * of a cache, since what streams past takes its share; where two stand there together, their parts do.  Most: bytes, however large the cache is: for what lies
 * on the stack, and for what is gone over again and again, whose pages should be found in a CPU's first table of them (64 to 96 of 4 KB; measured). */
N(panel_l1,   l1_bytes, 16, INT64_MAX,  "a panel that tiles read from L1")
N(panel,      l2_bytes, 12, 256 << 10,  "a panel of b over all of its terms")
N(gathered,   l2_bytes, 12, 2 << 20,    "a panel of b that is packed at run time")
N(panel_pass, l2_bytes,  4, 256 << 10,  "a pass's part of a panel")
N(group,      l2_bytes,  8, 512 << 10,  "the rows of a for a group of blocks")
N(twice,      l2_bytes,  8, 512 << 10,  "a panel that is not packed for two blocks alone")
N(waiting,    l2_bytes, 16, 512 << 10,  "sums that wait for the next rows of b")
N(patches,    l2_bytes,  4, 256 << 10,  "the patches of a group")
N(turned,     l2_bytes,  1, 64 << 10,   "rows of results that are turned together")
N(steps,      l2_bytes,  8, 512 << 10,  "what lies between the steps of a block")
N(weights,    l2_bytes, 16, INT64_MAX,  "weights that each block reads anew")
N(tiles,      l2_bytes, 16, 384 << 10,  "Winograd's values and products of a group of tiles")
N(tiles_far,  l2_bytes, 24, 768 << 10,  "Winograd's values and products, where weights come from further away")
N(filters,    l2_bytes, 16, 512 << 10,  "Winograd's filters that come at run time, all of them")
N(filters_pass, l2_bytes, 8, 256 << 10, "a pass's part of a panel of them")
N(all,        l2_bytes, 32, INT64_MAX,  "all of the weights, before they are fetched ahead")
