-- Counts what a project held since `at_ms`, in unit-milliseconds by day and class. The rule of `accrued` in
-- commands/project-usage.ts.
local DAY_MS = 86400000
local MAX_COUNTED_DAYS = 32
local function accrue(project, at_ms)
  local from = at_ms
  for _, amount in pairs(project.used) do
    if amount > 0 then from = math.max(project.at_ms, at_ms - MAX_COUNTED_DAYS * DAY_MS) end
  end
  while from < at_ms do
    local day = math.floor(from / DAY_MS)
    local to = math.min(at_ms, (day + 1) * DAY_MS)
    local key = string.format('%d', day)
    local sum = project.accrued[key] or {}
    for class, amount in pairs(project.used) do
      if amount > 0 then sum[class] = (sum[class] or 0) + amount * (to - from) end
    end
    project.accrued[key] = sum
    from = to
  end
  -- A clock that is more than a day behind was set back.
  if project.at_ms - at_ms > DAY_MS then project.at_ms = at_ms end
  project.at_ms = math.max(project.at_ms, at_ms)
end
