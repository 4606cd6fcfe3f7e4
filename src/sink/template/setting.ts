import type { Markup } from './markup.ts'

/** What filters need to know of the rendering that they are in. */
export interface Setting {
  markup: Markup
  now(): number
}
