/** As programs read it: what is of an instance names it by `uuid`, as the instance itself does. */
export function withUuid<T extends { readonly instanceUuid: string }>({ instanceUuid, ...rest }: T) {
  return { uuid: instanceUuid, ...rest };
}
