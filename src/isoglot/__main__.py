"""`python -m isoglot`, and `torchrun -m isoglot` where several processes train one encoder."""

from isoglot.cli import main

if __name__ == "__main__":
    main()
