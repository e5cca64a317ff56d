"""The campus: its buildings, rooms and sensors, and the same as an ontology in Turtle.

The campus of the χ-CEP paper has 170 buildings and 50,000 sensors; so has this one unless told otherwise. Everything is
drawn from the seed, so that the same arguments give the same text. Building RTH comes first, and its first room is the
paper's own example: sensor D105VOL, known as ee:D105VOLUME, in RTH105, an office of the EE department.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from random import Random

BUILDINGS, SENSORS, SEED = 170, 50_000, 1

BD = "http://cei.usc.edu/Building.owl#"
EE = "http://cei.usc.edu/Equipment.owl#"
HVC = "http://cei.usc.edu/HVAC.owl#"
ORG = "http://cei.usc.edu/Organization.owl#"
EVT = "http://cei.usc.edu/Event.owl#"
PREFIXES = {"bd": BD, "ee": EE, "hvc": HVC, "org": ORG, "evt": EVT}

# The streams that a sensor can report to.
AIRFLOW, AIRVOLUME = "AirflowReport", "AirVolume"
TEMPERATURE, OCCUPANCY, METER = "TemperatureReport", "OccupancyReport", "MeterReport"
STREAMS = (AIRFLOW, AIRVOLUME, TEMPERATURE, OCCUPANCY, METER)

# The paper's sensor: what events call it, what the ontology calls it, and its name in the facility's own scheme.
PAPER_VALUE, PAPER_SENSOR, PAPER_ALIAS = "D105VOL", "D105VOLUME", "RTH105-AF1"

SCHOOLS = {
    "ViterbiSchool": ("EE", "CS", "Aerospace", "Civil", "Chemical", "Biomedical", "Industrial", "Astronautics"),
    "DornsifeCollege": ("Physics", "Chemistry", "Biology", "Mathematics", "History", "Philosophy", "Economics"),
    "MarshallSchool": ("Accounting", "Finance", "Marketing", "Operations"),
    "KeckSchool": ("Anatomy", "Neurology", "Pathology", "Surgery", "Radiology"),
    "ThorntonSchool": ("Composition", "Strings", "Jazz"),
    "PriceSchool": ("Policy", "Planning", "RealEstate"),
    "AnnenbergSchool": ("Journalism", "Communication"),
    "RoskiSchool": ("Painting", "Sculpture"),
}
DEPARTMENTS = tuple(f"{name}Department" for names in SCHOOLS.values() for name in names)
FACILITIES = "FacilitiesDepartment"  # what belongs to nobody else: corridors

# What hangs in a room of each kind: supply air, return air, thermometers, counters of people, meters. Then square feet.
KITS = {
    "PrivateOffice": (("AF", "ZT", "OC"), 140),
    "SharedOffice": (("AF", "RF", "ZT", "OC"), 320),
    "MeetingRoom": (("AF", "RF", "ZT", "OC"), 380),
    "Laboratory": (("AF", "AF", "RF", "ZT", "OC", "KW"), 900),
    "LectureHall": (("AF", "AF", "RF", "ZT", "ZT", "OC", "OC"), 2400),
    "Corridor": (("AF", "ZT"), 600),
}
# The kinds of a building's rooms, in turn; the first three are what the example queries ask for.
KINDS = (
    "PrivateOffice",
    "MeetingRoom",
    "SharedOffice",
    "Corridor",
    "PrivateOffice",
    "Laboratory",
    "PrivateOffice",
    "SharedOffice",
    "LectureHall",
    "PrivateOffice",
    "MeetingRoom",
    "PrivateOffice",
)
CLASSES = {
    "AF": "ee:SupplyAirflowSensor",
    "RF": "ee:ReturnAirflowSensor",
    "ZT": "ee:TemperatureSensor",
    "OC": "ee:OccupancySensor",
    "KW": "ee:Meter",
}
ROOMS_PER_FLOOR = 18
FIRST_ROOM = 5  # numbers 01 to 04 of a floor are its stairs and lifts
LETTERS = 26


@dataclass(frozen=True)
class Room:
    """A room: its name (building, floor and number), and what the ontology says of it."""

    name: str
    building: str
    floor: int
    kind: str
    department: str
    area: int
    capacity: int


@dataclass(frozen=True)
class Sensor:
    """A sensor: its name in the ontology, what events call it, what it is, the stream it reports to, where it is."""

    name: str
    value: str
    code: str
    stream: str
    place: str


@dataclass(frozen=True)
class Campus:
    """Buildings by name with how many floors they have, rooms, and sensors in the order of rooms."""

    floors: dict[str, int]
    rooms: tuple[Room, ...]
    sensors: tuple[Sensor, ...]

    def values(self, stream: str) -> list[str]:
        """What the sensors that report to a stream are called in its events."""
        return [sensor.value for sensor in self.sensors if sensor.stream == stream]


def make_campus(buildings: int = BUILDINGS, sensors: int = SENSORS, seed: int = SEED) -> Campus:
    """A campus of this many buildings and sensors. At least one room and one meter per building, if sensors suffice."""
    if not 0 < buildings <= LETTERS**3 or sensors < 1:
        raise ValueError(
            f"a campus has 1 to {LETTERS**3} buildings and at least one sensor, not {buildings}, {sensors}"
        )
    random = Random(seed)
    names = [_code(number) for number in range(buildings)]
    compact = {name for number, name in enumerate(names) if number % 4 == 1}  # the newer system, with AirVolume events
    tenants = [random.sample(DEPARTMENTS, random.randint(1, 4)) for _ in names]
    # Some buildings are five times as large as others.
    sizes = [1 + 4 * random.random() for _ in names]
    rooms: list[Room] = []
    hung: list[Sensor] = []
    counts = [0] * buildings
    meters = min(buildings, max(0, sensors - 3 * buildings))
    while len(hung) < sensors - meters:
        # Three rooms each, then larger buildings more often.
        number = len(rooms) % buildings if len(rooms) < 3 * buildings else random.choices(range(buildings), sizes)[0]
        room = _room(names[number], counts[number], tenants[number], random)
        counts[number] += 1
        rooms.append(room)
        hung.extend(_hang(room, room.building in compact)[: sensors - meters - len(hung)])
    floors = {name: -(-count // ROOMS_PER_FLOOR) or 1 for name, count in zip(names, counts, strict=True)}
    for name in names[:meters]:
        hung.append(Sensor(f"{name}-KW1", f"{name}-KW1", "KW", METER, name))
    return Campus(floors, tuple(rooms), tuple(hung))


def make_ontology(buildings: int = BUILDINGS, sensors: int = SENSORS, seed: int = SEED) -> str:
    """The campus of these sizes in Turtle. It speaks in the words of `vocabulary`, which is a file of its own."""
    return write_turtle(make_campus(buildings, sensors, seed))


def write_turtle(campus: Campus) -> str:
    return "\n".join(_lines(campus)) + "\n"


def vocabulary() -> str:
    """The words of the domain, tied to Brick, in Turtle."""
    return read("vocabulary.ttl")


def read(name: str) -> str:
    """The text of one of the campus's files."""
    return files("presage.demo").joinpath("data", "campus", name).read_text(encoding="utf-8")


def iri_of(value: str) -> str:
    """The IRI that the contexts of the campus give to what an event calls a sensor, known or not."""
    if value == PAPER_VALUE:
        return EE + PAPER_SENSOR
    return EE + value.removeprefix("ee:")


def _code(number: int) -> str:
    """Three letters, RTH first, no two buildings alike: the step has no divisor in common with 26³."""
    place = (ord("R") - 65) * LETTERS**2 + (ord("T") - 65) * LETTERS + ord("H") - 65
    place = (place + number * 7919) % LETTERS**3
    return "".join(chr(65 + place // LETTERS**power % LETTERS) for power in (2, 1, 0))


def _room(building: str, number: int, tenants: list[str], random: Random) -> Room:
    floor, place = number // ROOMS_PER_FLOOR + 1, number % ROOMS_PER_FLOOR
    kind = KINDS[number % len(KINDS)]
    area = round(KITS[kind][1] * (0.7 + 0.6 * random.random()))
    department = FACILITIES if kind == "Corridor" else random.choice(tenants)
    if building == "RTH" and number < 3:
        department = "EEDepartment"
    capacity = 0 if kind == "Corridor" else max(1, area // (20 if kind == "LectureHall" else 110))
    return Room(f"{building}{floor}{FIRST_ROOM + place:02d}", building, floor, kind, department, area, capacity)


def _hang(room: Room, compact: bool) -> list[Sensor]:
    """The sensors of a room. In buildings with the newer system air sensors have other events and compact names."""
    counts = dict.fromkeys(CLASSES, 0)
    streams = {"ZT": TEMPERATURE, "OC": OCCUPANCY, "KW": METER}
    made = []
    for code in KITS[room.kind][0]:
        counts[code] += 1
        name = f"{room.name}-{code}{counts[code]}"
        stream = streams.get(code, AIRVOLUME if compact else AIRFLOW)
        value = f"ee:{name}" if stream == AIRVOLUME else name
        if name == PAPER_ALIAS:
            name, value = PAPER_SENSOR, PAPER_VALUE
        made.append(Sensor(name, value, code, stream, room.name))
    return made


def _lines(campus: Campus) -> Iterator[str]:
    yield from (f"@prefix {prefix}: <{namespace}> ." for prefix, namespace in PREFIXES.items())
    yield "@prefix owl: <http://www.w3.org/2002/07/owl#> ."
    yield "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    yield ""
    yield "org:USC a org:University ."
    for school, names in SCHOOLS.items():
        yield f"org:{school} a org:School ; org:partOf org:USC ."
        yield from (f"org:{name}Department a org:Department ; org:partOf org:{school} ." for name in names)
    yield f"org:{FACILITIES} a org:ServiceDepartment ; org:partOf org:USC ."
    yield "bd:UniversityPark a bd:Campus ."
    for building, floors in campus.floors.items():
        yield f'bd:{building} a bd:Building ; bd:isPartOf bd:UniversityPark ; rdfs:label "{building}" .'
        for floor in range(1, floors + 1):
            yield f"bd:{building}-F{floor} a bd:Floor ; bd:isPartOf bd:{building} ."
            yield f"ee:{building}-AHU{floor} a hvc:AirHandler ; bd:hasLocation bd:{building}-F{floor} ."
    for room in campus.rooms:
        yield (
            f"bd:{room.name} a bd:{room.kind} ; bd:isPartOf bd:{room.building}-F{room.floor} ;"
            f" bd:belongsTo org:{room.department} ; bd:area {room.area} ; bd:capacity {room.capacity} ;"
            f" hvc:designAirflow {room.area * 2:.1f}E0 ."
        )
        yield (
            f"ee:{room.name}-VAV a hvc:VAV ; ee:feeds bd:{room.name} ; ee:isFedBy ee:{room.building}-AHU{room.floor} ."
        )
    for sensor in campus.sensors:
        told = ""
        if sensor.code == "AF":
            told = f" ; ee:isPointOf ee:{sensor.place}-VAV"
        elif sensor.code == "KW":
            told = f" ; ee:meters bd:{sensor.place}"
        yield f"ee:{sensor.name} a {CLASSES[sensor.code]} ; bd:hasLocation bd:{sensor.place}{told} ."
        if sensor.name == PAPER_SENSOR:
            yield f"ee:{PAPER_ALIAS} owl:sameAs ee:{PAPER_SENSOR} ."
