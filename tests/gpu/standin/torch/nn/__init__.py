"""Modules as far as net.py has them."""


class Module:
    def register_buffer(self, name, value):
        setattr(self, name, value)

    def __call__(self, *given):
        return self.forward(*given)
