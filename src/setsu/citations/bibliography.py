"""The papers and books that the algorithms follow, by the keys their files name."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BIBLIOGRAPHY", "Source"]


@dataclass(frozen=True)
class Source:
    """A paper, a book, lecture notes or a program.

    kind: article, book, inproceedings, misc. where: journal, publisher or conference; numbers: volume, number, pages.
    """

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    year: int
    where: str = ""
    volume: str = ""
    number: str = ""
    pages: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        """One line for a list of references."""
        names = " and ".join(self.authors) if len(self.authors) < 3 else ", ".join(self.authors)
        # Braces keep BibTeX from taking a group for a person.
        parts = [f"{names.strip('{}')}: {self.title}"]
        place = self.where + (f" {self.volume}" if self.volume else "") + (f"({self.number})" if self.number else "")
        place += f", {self.pages}" if self.pages else ""
        parts += [part for part in (place, self.note) if part]
        return ". ".join(parts) + f", {self.year}."

    @property
    def bibtex(self) -> str:
        """An entry of a BibTeX file."""
        place = {"article": "journal", "book": "publisher", "inproceedings": "booktitle", "misc": "howpublished"}
        entries = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            place[self.kind]: self.where,
            "volume": self.volume,
            "number": self.number,
            "pages": self.pages.replace("-", "--"),
            "note": self.note,
            "year": str(self.year),
        }
        lines = [f"  {name} = {{{value}}}," for name, value in entries.items() if value]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


_ASME = "Journal of Dynamic Systems, Measurement, and Control"
_IJRR = "The International Journal of Robotics Research"
_RAL = "IEEE Robotics and Automation Letters"
_JAPANESE = "In Japanese"

_SOURCES = (
    # The papers whose results are reproduced; only what their own pages say.
    Source(
        "nishiguchi2014", "misc", ("Junpei Nishiguchi", "Mamoru Minami", "Akira Yano"),
        "Iterative calculation method for constraint motion by extended Newton-Euler method and application for "
        "forward dynamics", 2014, note=_JAPANESE,
    ),
    Source(
        "sugihara2002", "misc", ("Tomomichi Sugihara", "Yoshihiko Nakamura"),
        "Computation of Contact Force for Multibody System based on Multipoint Rigid Contact Model", 2002,
        note=_JAPANESE,
    ),
    Source(
        "kawasaki1995", "misc", ("Haruhisa Kawasaki", "Atushi Murata", "Kazuo Kanzaki"),
        "A Symbolic Analysis of the Minimum Dynamic Parameters for the Closed-Link Manipulator using Computer Algebra "
        "Software", 1995, note=_JAPANESE,
    ),
    Source(
        "yamamoto2022", "misc", ("山本 江",), "ロボットシミュレーション（２）：逆動力学・順動力学", 2022,
        note="Lecture notes, 17 October 2022, in Japanese",
    ),
    Source(
        "isobe2003", "misc", ("Daigoro Isobe", "Shunsuke Sato", "Atsushi Yagi"),
        "Development of Inverse Dynamics Solution Scheme for Purpose of General Use", 2003, note=_JAPANESE,
    ),
    # Rigid-body dynamics.
    Source(
        "luh1980", "article", ("J. Y. S. Luh", "M. W. Walker", "R. P. C. Paul"),
        "On-Line Computational Scheme for Mechanical Manipulators", 1980, _ASME, "102", "2", "69-76",
    ),
    Source(
        "walker1982", "article", ("M. W. Walker", "D. E. Orin"),
        "Efficient Dynamic Computer Simulation of Robotic Mechanisms", 1982, _ASME, "104", "3", "205-211",
    ),
    Source(
        "featherstone1983", "article", ("R. Featherstone",),
        "The Calculation of Robot Dynamics Using Articulated-Body Inertias", 1983, _IJRR, "2", "1", "13-30",
    ),
    Source("featherstone2008", "book", ("R. Featherstone",), "Rigid Body Dynamics Algorithms", 2008, "Springer"),
    Source(
        "atkeson1986", "article", ("C. G. Atkeson", "C. H. An", "J. M. Hollerbach"),
        "Estimation of Inertial Parameters of Manipulator Loads and Links", 1986, _IJRR, "5", "3", "101-119",
    ),
    Source(
        "orin2013", "article", ("D. E. Orin", "A. Goswami", "S.-H. Lee"),
        "Centroidal dynamics of a humanoid robot", 2013, "Autonomous Robots", "35", "", "161-176",
    ),
    Source(
        "echeandia2021", "article", ("S. Echeandia", "P. M. Wensing"),
        "Numerical Methods to Compute the Coriolis Matrix and Christoffel Symbols for Rigid-Body Systems", 2021,
        "Journal of Computational and Nonlinear Dynamics", "16", "9",
    ),
    Source(
        "singh2022", "article", ("S. Singh", "R. P. Russell", "P. M. Wensing"),
        "Efficient Analytical Derivatives of Rigid-Body Dynamics using Spatial Vector Algebra", 2022, _RAL, "7", "2",
        "1776-1783",
    ),
    # Integration in time.
    Source(
        "kutta1901", "article", ("W. Kutta",),
        "Beitrag zur näherungsweisen Integration totaler Differentialgleichungen", 1901,
        "Zeitschrift für Mathematik und Physik", "46", "", "435-453",
    ),
    Source(
        "nystrom1925", "article", ("E. J. Nyström",),
        "Über die numerische Integration von Differentialgleichungen", 1925,
        "Acta Societatis Scientiarum Fennicae", "50", "13", "1-54",
    ),
    Source(
        "cooper1972", "article", ("G. J. Cooper", "J. H. Verner"),
        "Some Explicit Runge-Kutta Methods of High Order", 1972, "SIAM Journal on Numerical Analysis", "9", "3",
        "389-405",
    ),
    Source(
        "hairer1993", "book", ("E. Hairer", "S. P. Nørsett", "G. Wanner"),
        "Solving Ordinary Differential Equations I: Nonstiff Problems", 1993, "Springer", note="Second edition",
    ),
    Source(
        "hairer1996", "book", ("E. Hairer", "G. Wanner"),
        "Solving Ordinary Differential Equations II: Stiff and Differential-Algebraic Problems", 1996, "Springer",
        note="Second edition",
    ),
    Source(
        "hairer2006", "book", ("E. Hairer", "C. Lubich", "G. Wanner"), "Geometric Numerical Integration", 2006,
        "Springer", note="Second edition",
    ),
    Source(
        "munthekaas1998", "article", ("H. Munthe-Kaas",), "Runge-Kutta methods on Lie groups", 1998,
        "BIT Numerical Mathematics", "38", "", "92-111",
    ),
    # Contact.
    Source(
        "alart1991", "article", ("P. Alart", "A. Curnier"),
        "A mixed formulation for frictional contact problems prone to Newton like solution methods", 1991,
        "Computer Methods in Applied Mechanics and Engineering", "92", "3", "353-375",
    ),
    # Humanoids.
    Source(
        "vukobratovic2004", "article", ("M. Vukobratović", "B. Borovac"),
        "Zero-Moment Point: Thirty Five Years of its Life", 2004, "International Journal of Humanoid Robotics", "1",
        "1", "157-173",
    ),
    Source(
        "kajita2003", "inproceedings",
        ("S. Kajita", "F. Kanehiro", "K. Kaneko", "K. Fujiwara", "K. Harada", "K. Yokoi", "H. Hirukawa"),
        "Biped walking pattern generation by using preview control of zero-moment point", 2003,
        "IEEE International Conference on Robotics and Automation", "", "", "1620-1626",
    ),
    Source(
        "yamashita2001", "article", ("N. Yamashita", "M. Fukushima"),
        "On the Rate of Convergence of the Levenberg-Marquardt Method", 2001, "Computing Supplementa", "15", "",
        "239-249",
    ),
    Source(
        "sugihara2011", "article", ("T. Sugihara",),
        "Solvability-Unconcerned Inverse Kinematics by the Levenberg-Marquardt Method", 2011,
        "IEEE Transactions on Robotics", "27", "5", "984-991",
    ),
    Source(
        "chu2004", "article", ("E. K.-W. Chu", "H.-Y. Fan", "W.-W. Lin", "C.-S. Wang"),
        "Structure-preserving algorithms for periodic discrete-time algebraic Riccati equations", 2004,
        "International Journal of Control", "77", "8", "767-788",
    ),
    Source("raibert1986", "book", ("M. H. Raibert",), "Legged Robots That Balance", 1986, "MIT Press"),
    # Identification, sampling.
    Source(
        "swevers1997", "article", ("J. Swevers", "C. Ganseman", "D. B. Tükel", "J. De Schutter", "H. Van Brussel"),
        "Optimal robot excitation and identification", 1997, "IEEE Transactions on Robotics and Automation", "13", "5",
        "730-740",
    ),
    Source(
        "gautier2001", "article", ("M. Gautier", "P. Poignet"),
        "Extended Kalman filtering and weighted least squares dynamic identification of robot", 2001,
        "Control Engineering Practice", "9", "12", "1361-1372",
    ),
    Source(
        "wensing2018", "article", ("P. M. Wensing", "S. Kim", "J.-J. E. Slotine"),
        "Linear Matrix Inequalities for Physically Consistent Inertial Parameter Identification: A Statistical "
        "Perspective on the Mass Distribution", 2018, _RAL, "3", "1", "60-67",
    ),
    Source(
        "lee2020", "article", ("T. Lee", "P. M. Wensing", "F. C. Park"),
        "Geometric Robot Dynamic Identification: A Convex Programming Approach", 2020,
        "IEEE Transactions on Robotics", "36", "2", "348-365",
    ),
    Source(
        "mckay1979", "article", ("M. D. McKay", "R. J. Beckman", "W. J. Conover"),
        "A Comparison of Three Methods for Selecting Values of Input Variables in the Analysis of Output from a "
        "Computer Code", 1979, "Technometrics", "21", "2", "239-245",
    ),
    Source(
        "setsu", "misc", ("{The Setsu developers}",), "Setsu: dynamics of robots and multibody systems", 2026,
        note="Software, version 0.2.0",
    ),
)  # fmt: skip

BIBLIOGRAPHY: dict[str, Source] = {source.key: source for source in _SOURCES}
"""Sources by key, in order of subject."""
