/** Colours for a terminal, or none. */
export type Paint = (style: Style, text: string) => string

export type Style = keyof typeof CODES

const CODES = {
  bold: '1',
  dim: '90',
  good: '32',
  bad: '31',
  warn: '33',
  info: '36',
  deciding: '1;31',
} as const

export function createPaint(colour: boolean): Paint {
  return (style, text) => (colour && text !== '' ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text)
}

/** Does a person look at it, who wants colours? FORCE_COLOR is for logs of CI, which show them. */
export function wantsColour(output: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const forced = env['FORCE_COLOR']
  if (env['NO_COLOR']) return false
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false'
  return output.isTTY === true && env['TERM'] !== 'dumb'
}
