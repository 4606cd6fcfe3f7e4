import { badRequest } from './status.ts'

/** A whole number of the query; undefined when it is not given. */
export function parseNumber(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`)
  return Number(text)
}

/** A resourceVersion of the query; undefined when it is not given. */
export function parsePosition(text: string): number | undefined {
  if (text === '') return undefined
  if (/^\d+$/.test(text)) return Number(text)
  throw badRequest(`invalid resource version: resourceVersion: Invalid value: "${text}"`)
}

/** `true` or `1`. */
export function parseFlag(text: string | null): boolean {
  return text === 'true' || text === '1'
}
