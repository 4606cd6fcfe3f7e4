import { textsOf } from './read.ts'

/** Slack's names; a Go template would need the list of allowed channels. */
export function channelOf(value: unknown, notes: string[]): string {
  const [text = ''] = textsOf(value)
  if (text.includes('{{')) {
    notes.push(`the channel is a Go template that was not carried over: ${text}`)
    return '#kubernetes'
  }
  if (text === '') {
    notes.push('no channel was given')
    return '#kubernetes'
  }
  return /^[#CG]/.test(text) ? text : `#${text}`
}
