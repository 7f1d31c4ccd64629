-- Why an amount can't be taken beside what is used; nil when it can. The rule of libs/domain/inventory.ts, word for word.
-- An inventory is { total, reserved, allocation_ratio, min_unit, max_unit, step_size }.
local function refusal_of(inventory, used, amount)
  local total, reserved, ratio = inventory[1], inventory[2], inventory[3]
  if amount < inventory[4] then return 'min_unit' end
  if amount > inventory[5] then return 'max_unit' end
  if amount % inventory[6] ~= 0 then return 'step_size' end
  if used + amount > math.floor((total - reserved) * ratio) then return 'capacity' end
  return nil
end
