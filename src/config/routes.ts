/** Rule → sink → the options that the rule has for it, as the sink type's schema made them. */
export type Routes = ReadonlyMap<string, ReadonlyMap<string, unknown>>

/** The key for the deliveries of removed rules; no rule has this name. */
export const NO_RULE = ''

export function routeOf(routes: Routes, rule: string, sink: string): unknown {
  return routes.get(rule)?.get(sink) ?? routes.get(NO_RULE)?.get(sink)
}
