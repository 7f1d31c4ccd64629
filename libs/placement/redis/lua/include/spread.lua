-- Spread: how many members of a group are in each domain, a value of one name in the metadata of host aggregates. The rule
-- of libs/domain/server-group.ts.

-- The counter of a group's members in a domain; nil of members that are in none.
local function domain_counter(by, domain, group_key)
  if not domain then return nil end
  return 'members-in ' .. #by .. ':' .. by .. #domain .. ':' .. domain .. group_key
end

-- Whether one member more in the domain would be too many more than there are where there are fewest.
local function is_skewed(spread, group_key, count_of)
  if not spread.domain then return true end
  local here = count_of(domain_counter(spread.by, spread.domain, group_key))
  local least = here
  for _, domain in ipairs(spread.among) do
    least = math.min(least, count_of(domain_counter(spread.by, domain, group_key)))
  end
  return here + 1 - least > spread.max_skew
end
