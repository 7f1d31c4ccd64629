-- Which limits a growth would exceed, as a list of { scope, name, class, used, asked, limit }. The rule of
-- libs/domain/quota.ts, word for word. A growth has the projects in `order`, and by project and class in `by` how much more
-- each is to hold; `state` has functions quota, usage and members.

local UNLIMITED = -1

local function limit_of(project, class, state)
  local own, default = state.quota(project), state.quota('')
  return own and own.limits[class] or default and default.limits[class] or UNLIMITED
end

local function standing_of(project, class, growth, state)
  local by = growth.by[project]
  return state.usage(project)[class] or 0, by and by[class] or 0
end

local function add_excess_of_class(excess, project, class, growth, state)
  local limit = limit_of(project, class, state)
  if limit == UNLIMITED then return end
  local quota = state.quota(project)
  local cohort = quota and quota.cohort
  local may_borrow = cohort and (quota.borrowLimits[class] or UNLIMITED) or 0
  local used, asked = standing_of(project, class, growth, state)
  if may_borrow ~= UNLIMITED and used + asked > limit + may_borrow then
    excess[#excess + 1] = { 'project', project, class, used, asked, limit + may_borrow }
  end
  if not cohort then return end
  local all_used, all_asked, all_limit = 0, 0, 0
  for _, member in ipairs(state.members(cohort)) do
    local limit_of_member = limit_of(member, class, state)
    if limit_of_member ~= UNLIMITED then
      local member_used, member_asked = standing_of(member, class, growth, state)
      local member_quota = state.quota(member)
      local lent = member_quota and member_quota.lendLimits and member_quota.lendLimits[class] or limit_of_member
      lent = math.min(lent, limit_of_member)
      local own = limit_of_member - lent
      local before = math.max(0, member_used - own)
      all_used = all_used + before
      all_asked = all_asked + math.max(0, member_used + member_asked - own) - before
      all_limit = all_limit + lent
    end
  end
  if all_asked > 0 and all_used + all_asked > all_limit then
    excess[#excess + 1] = { 'cohort', cohort, class, all_used, all_asked, all_limit }
  end
end

local function excess_of(growth, state)
  for _, project in ipairs(growth.order) do
    local classes, excess = {}, {}
    for class, asked in pairs(growth.by[project]) do
      if asked > 0 then classes[#classes + 1] = class end
    end
    table.sort(classes)
    for _, class in ipairs(classes) do add_excess_of_class(excess, project, class, growth, state) end
    if #excess > 0 then return excess end
  end
  return {}
end
