import { clean } from './parts.ts'
import type { Cut } from './preset.ts'

const SMALLEST = 1 / 128
const LEAST = 24

export interface Fitted {
  body: Buffer
  truncated: boolean
}

/** Builds a body of at most so many bytes: with all texts shortened further until it fits. */
export function fitted(maxBytes: number, build: (cut: Cut) => unknown): Fitted {
  for (let scale = 1; ; scale /= 2) {
    let truncated = false
    const body = Buffer.from(
      JSON.stringify(
        build((text, max) => {
          const short = shortened(text, scale === 1 ? max : Math.min(max, Math.max(LEAST, max * scale)))
          truncated ||= short !== text
          return short
        }),
        tidy,
      ),
    )
    if (body.length <= maxBytes || scale <= SMALLEST) return { body, truncated }
  }
}

/** Whatever a text was made of, nothing leaves that moves cursors or is no character. */
function tidy(_: string, value: unknown): unknown {
  return typeof value === 'string' ? clean(value) : value
}

/** At most `max` UTF-16 units; ends in no half of a character, of an escape or of an entity. */
export function shortened(text: string, max: number): string {
  if (text.length <= max) return text
  const head = text
    .slice(0, Math.max(0, Math.floor(max) - 1))
    .replace(/[\ud800-\udbff]$/, '')
    .replace(/&[#\w]{0,8}$/, '')
    .replace(/(?<!\\)((?:\\\\)*)\\$/, '$1')
  return `${head}…`
}
