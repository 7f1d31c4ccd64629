-- A project, or a cohort, in keys: as `projectKey` of commands/tables.ts.
local function project_key(name)
  return (string.gsub(name, '[^%w%-_.]', function(byte) return string.format('%%%02X', string.byte(byte)) end))
end
