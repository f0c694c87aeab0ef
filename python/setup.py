"""One wheel for every Python 3: nothing in it is compiled against one, libingot.so.0 is loaded by ctypes."""
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(distclass=Binary, cmdclass={"bdist_wheel": Wheel})
