/** An object's JSON with what cannot be packed taken out: runs of hexadecimal digits, as in digests and ids. */
export interface SplitText {
  text: Buffer
  /** What was taken out, two digits a byte, in order. */
  digits: Buffer
}

/** Control characters stand for what was taken out: JSON has none of them. */
const UID = '\x01'
const VERSION = '\x02'
const UUID = '\x03'
const DIGEST = '\x04'
const RUN = '\x05'
const AGAIN = '\x06'

const RUNS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,254}/g
const CONTROLS = /[\x01-\x08]/
const FIRST_CODE = 0x20
const MAX_CODES = 90
/** In bytes. */
const MAX_DIGITS = 0xffff
/** Larger ones take tens of milliseconds, and ids are a small part of them. */
const MAX_SPLIT_BYTES = 262_144

/** Takes out runs of hexadecimal digits, and the id and version that are stored beside it; undefined when it must stay whole. */
export function splitText(json: Buffer, uid: string, version: string): SplitText | undefined {
  if (json.length > MAX_SPLIT_BYTES) return undefined
  const whole = json.toString('latin1')
  if (CONTROLS.test(whole)) return undefined
  const parts: Buffer[] = []
  const places = new Map<string, number>()
  const named = withoutIds(whole, uid, version)
  const text = named.replace(RUNS, (found) => {
    const isUuid = found[8] === '-'
    const run = isUuid ? found : found.slice(0, found.length - (found.length % 2))
    const rest = found.slice(run.length)
    const place = places.get(run)
    if (place !== undefined) return AGAIN + String.fromCharCode(FIRST_CODE + place) + rest
    if (places.size < MAX_CODES) places.set(run, places.size)
    parts.push(Buffer.from(isUuid ? run.replaceAll('-', '') : run, 'hex'))
    if (isUuid) return UUID
    return (run.length === 64 ? DIGEST : RUN + String.fromCharCode(run.length / 2)) + rest
  })
  const digits = Buffer.concat(parts)
  return digits.length > MAX_DIGITS ? undefined : { text: Buffer.from(text, 'latin1'), digits }
}

/** Undoes `splitText`. */
export function joinText({ text, digits }: SplitText, uid: string, version: string): Buffer {
  const runs: string[] = []
  let at = 0
  const take = (bytes: number) => {
    at += bytes
    return digits.toString('hex', at - bytes, at)
  }
  const keep = (run: string) => {
    if (runs.length < MAX_CODES) runs.push(run)
    return run
  }
  const whole = text.toString('latin1').replace(/[\x01-\x04]|[\x05\x06]./gs, (mark) => {
    const kind = mark[0]
    if (kind === UID) return uid
    if (kind === VERSION) return `"resourceVersion":"${version}"`
    if (kind === AGAIN) return runs[mark.charCodeAt(1) - FIRST_CODE] ?? ''
    const run = take(kind === UUID ? 16 : kind === DIGEST ? 32 : mark.charCodeAt(1))
    return keep(kind === UUID ? run.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : run)
  })
  return Buffer.from(whole, 'latin1')
}

function withoutIds(whole: string, uid: string, version: string): string {
  const text = uid.length >= 16 && !/[\\"]/.test(uid) ? whole.replaceAll(uid, UID) : whole
  return text.replace(`"resourceVersion":"${version}"`, VERSION)
}
