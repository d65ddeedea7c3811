"""golden/normal.csv: N(d) at 50 digits, by mpmath's erfc. Run: pip install mpmath && python3 normal.py > ../normal.csv"""

import random

from mpmath import erfc, mp, mpf, nstr, sqrt

mp.dps = 60
random.seed(1)
points = [i / 8 for i in range(-296, 297)] + [random.uniform(-9, 9) for _ in range(200)]
points += [s * 10.0**-e for e in range(1, 17, 3) for s in (-1, 1)]
print("d,n")
for d in sorted(set(points)):
    print(f"{d!r},{nstr(erfc(-mpf(d) / sqrt(2)) / 2, 25)}")
