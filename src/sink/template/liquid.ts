import { createRequire } from 'node:module'

export type LiquidLibrary = typeof import('liquidjs')

let loaded: LiquidLibrary | undefined

/** The template engine, loaded with the first template: most configurations have none. */
export function liquid(): LiquidLibrary {
  loaded ??= createRequire(import.meta.url)('liquidjs') as LiquidLibrary
  return loaded
}
