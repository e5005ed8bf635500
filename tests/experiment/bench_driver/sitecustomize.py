from iojoule.meters.table import DRIVERS

DRIVERS["ranging_meter"] = "ranging_meter:RangingMeter"
