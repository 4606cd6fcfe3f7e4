/** The parts of Slack's Block Kit that messages are made of. */
export type Block = Section | ContextBlock | RichText

export interface Mrkdwn {
  type: 'mrkdwn'
  text: string
  /** Names, channels and URLs in the text stay text. */
  verbatim: true
}

export interface Section {
  type: 'section'
  text?: Mrkdwn
  fields?: Mrkdwn[]
}

export interface ContextBlock {
  type: 'context'
  elements: Mrkdwn[]
}

/** Text in here is never parsed: whatever stands in it has no meaning. */
export interface RichText {
  type: 'rich_text'
  elements: (RichSection | RichPreformatted)[]
}

export interface RichSection {
  type: 'rich_text_section'
  elements: RichRun[]
}

export interface RichPreformatted {
  type: 'rich_text_preformatted'
  elements: RichRun[]
}

export interface RichRun {
  type: 'text'
  text: string
  style?: { bold?: true; code?: true }
}

/** Legacy, but the only place for a bar of colour. */
export interface Attachment {
  color: string
  fallback: string
  blocks: Block[]
}

/** A message as Slack takes it. */
export interface Rendered {
  /** In mrkdwn: what is shown first, and all that a notification and a screen reader have. */
  text: string
  attachments: Attachment[]
  /** All of it as mrkdwn without blocks, for when Slack refuses them. */
  plain: string
  /** Something of what a template or the words said was left out. */
  truncated: boolean
}

export function mrkdwn(text: string): Mrkdwn {
  return { type: 'mrkdwn', text, verbatim: true }
}

/** What Slack counts of a block: the characters of its texts. */
export function charactersOf(block: Block): number {
  const { type } = block
  if (type === 'context') return sum(block.elements)
  if (type === 'rich_text') return block.elements.reduce((n, it) => n + sum(it.elements), 0)
  return (block.text?.text.length ?? 0) + sum(block.fields ?? [])
}

function sum(texts: readonly { text: string }[]): number {
  return texts.reduce((n, { text }) => n + text.length, 0)
}
