import type { ConfigDocument, Path } from '../document.ts'
import type { Draft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'

/** Abbreviations of the time zone database that are often taken for another zone, with the name to write. */
const ABBREVIATIONS: ReadonlyMap<unknown, readonly [message: string, name: string]> = new Map([
  ['EST', ['EST has no daylight saving time', 'America/New_York']],
  ['MST', ['MST has no daylight saving time', 'America/Denver']],
  ['BST', ['BST is the time of Bangladesh', 'Europe/London']],
])

/** Windows of `mute` whose timezone is likely an hour or more off for a part of the year. */
export function checkTimezones({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap(({ index }) => {
    const path: Path = ['rules', index, 'mute']
    const windows = document.at(path)?.items?.map((_, at) => [...path, at]) ?? [path]
    return windows.flatMap((window) => {
      const place = [...window, 'timezone']
      const [message, name] = ABBREVIATIONS.get(document.at(place)?.value) ?? []
      if (message === undefined) return []
      const placing = { hint: `write ${name}`, severity: 'warning' } as const
      return [document.problem('fixed-timezone', place, message, placing)]
    })
  })
}
