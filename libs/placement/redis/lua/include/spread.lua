-- Spread: how many members of a group are in each domain, a value of one name in the metadata of host aggregates. The rule
-- of libs/domain/server-group.ts.

-- The counter of a group in a domain, of its 'members-in ', of places 'kept-in ' for them to go back to, or of those that are
-- 'passing-in ' and may leave again; nil of no domain.
local function domain_counter(what, by, domain, group_key)
  if not domain then return nil end
  return what .. #by .. ':' .. by .. #domain .. ':' .. domain .. group_key
end

-- True when one member more in the domain could become too many more than there are where there are fewest.
local function is_skewed(spread, group_key, count_of)
  if not spread.domain then return true end
  -- Few groups have a member on a move: the others are spared two counters for each domain.
  local has_kept = count_of('kept ' .. group_key) > 0
  local function count_in(what, domain)
    if what ~= 'members-in ' and not has_kept then return 0 end
    return count_of(domain_counter(what, spread.by, domain, group_key))
  end
  local function least_in(domain) return count_in('members-in ', domain) - count_in('passing-in ', domain) end
  local most = count_in('members-in ', spread.domain) + count_in('kept-in ', spread.domain)
  local least = least_in(spread.domain) + 1
  for _, domain in ipairs(spread.among) do
    if domain ~= spread.domain then least = math.min(least, least_in(domain)) end
  end
  return most + 1 - least > spread.max_skew
end
