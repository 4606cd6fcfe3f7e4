/** Slack's documented limits, and the one on all blocks together that is not. Gives the error and where, or nothing. */
export interface Refusal {
  error: string
  messages?: string[]
}

const MAX_TEXT = 40_000
const MAX_BLOCKS = 50
const MAX_SECTION = 3_000
const MAX_FIELDS = 10
const MAX_FIELD = 2_000
const MAX_HEADER = 150
const MAX_CONTEXT = 10
const MAX_ACTIONS = 25
const MAX_LABEL = 75
const MAX_ID = 255
const MAX_VALUE = 2_000
const MAX_URL = 3_000
const MAX_ATTACHMENTS = 100
const MAX_IN_ALL = 13_200

type Json = any

export function refusalOf(text: string, blocks: Json, attachments: Json): Refusal | undefined {
  if (text.length > MAX_TEXT) return { error: 'msg_too_long' }
  if (blocks !== undefined && !Array.isArray(blocks)) return { error: 'invalid_blocks_format' }
  if (attachments !== undefined && !Array.isArray(attachments)) return { error: 'invalid_attachments' }
  const lists: [pointer: string, list: Json[]][] = [['/blocks', blocks ?? []]]
  for (const [i, it] of (attachments ?? []).entries())
    lists.push([`/attachments/${i}/blocks`, it?.blocks ?? []])
  const isEmpty = text.trim() === '' && lists.every(([, list]) => list.length === 0)
  if (isEmpty) return { error: 'no_text' }
  if ((attachments ?? []).length > MAX_ATTACHMENTS) return { error: 'too_many_attachments' }
  const messages = lists.flatMap(([pointer, list]) => faultsOf(list, pointer))
  if (messages.length > 0) return { error: 'invalid_blocks', messages }
  const all = lists.flatMap(([, list]) => list).flatMap(textsOf)
  if (all.reduce((n, it) => n + it.length, 0) > MAX_IN_ALL) return { error: 'msg_blocks_too_long' }
  return undefined
}

/** The refusal of a message's metadata; undefined if there is none, or it is as documented. */
export function refusedMetadata(metadata: Json): Refusal | undefined {
  if (metadata === undefined) return undefined
  const { event_type: type, event_payload: payload } = metadata ?? {}
  const isValid =
    typeof type === 'string' && /^\w{1,255}$/.test(type) && typeof payload === 'object' && payload
  return isValid && !Array.isArray(payload) ? undefined : { error: 'invalid_metadata_format' }
}

function faultsOf(list: Json, pointer: string): string[] {
  if (!Array.isArray(list)) return [`[ERROR] must be an array [json-pointer:${pointer}]`]
  const faults =
    list.length > MAX_BLOCKS ? [`[ERROR] no more than 50 items allowed [json-pointer:${pointer}]`] : []
  return [...faults, ...list.flatMap((block, i) => blockFaults(block, `${pointer}/${i}`))]
}

function blockFaults(block: Json, at: string): string[] {
  const fault = (what: string, where: string) => [`[ERROR] ${what} [json-pointer:${where}]`]
  const text = (it: Json, max: number, where: string): string[] => {
    if (it?.type !== 'mrkdwn' && it?.type !== 'plain_text') return fault('unsupported type', `${where}/type`)
    if (typeof it.text !== 'string' || it.text.length < 1)
      return fault('must be more than 0 characters', `${where}/text`)
    return it.text.length > max ? fault(`must be less than ${max + 1} characters`, `${where}/text`) : []
  }
  switch (block?.type) {
    case 'section': {
      if (!block.text && !block.fields) return fault('missing required field: text', at)
      const fields: Json[] = block.fields ?? []
      return [
        ...(block.text ? text(block.text, MAX_SECTION, `${at}/text`) : []),
        ...(fields.length > MAX_FIELDS || (block.fields && fields.length === 0)
          ? fault('no more than 10 items allowed', `${at}/fields`)
          : []),
        ...fields.flatMap((it, i) => text(it, MAX_FIELD, `${at}/fields/${i}`)),
      ]
    }
    case 'header':
      return block.text?.type === 'plain_text'
        ? text(block.text, MAX_HEADER, `${at}/text`)
        : fault('unsupported type', `${at}/text`)
    case 'context': {
      const elements: Json[] = block.elements ?? []
      if (elements.length < 1 || elements.length > MAX_CONTEXT)
        return fault('1 to 10 items allowed', `${at}/elements`)
      return elements.flatMap((it, i) => text(it, MAX_SECTION, `${at}/elements/${i}`))
    }
    case 'actions': {
      const elements: Json[] = block.elements ?? []
      if (elements.length < 1 || elements.length > MAX_ACTIONS)
        return fault('1 to 25 items allowed', `${at}/elements`)
      if (String(block.block_id ?? '').length > MAX_ID) return fault('too long', `${at}/block_id`)
      if (new Set(elements.map((it) => it.action_id)).size < elements.length)
        return fault('`action_id` already exists', `${at}/elements`)
      return elements.flatMap((it, i) => buttonFaults(it, `${at}/elements/${i}`))
    }
    case 'rich_text':
      return (block.elements ?? []).length === 0
        ? fault('missing required field: elements', at)
        : block.elements.flatMap((it: Json, i: number) => richFaults(it, `${at}/elements/${i}`))
    case 'divider':
      return []
    default:
      return fault('unsupported type', `${at}/type`)
  }
}

function buttonFaults(it: Json, at: string): string[] {
  const isText = it?.text?.type === 'plain_text' && typeof it.text.text === 'string' && it.text.text !== ''
  const isWithin =
    isText &&
    it.text.text.length <= MAX_LABEL &&
    String(it.action_id ?? '').length <= MAX_ID &&
    (it.value === undefined || (typeof it.value === 'string' && it.value.length <= MAX_VALUE)) &&
    (it.url === undefined || (URL.canParse(it.url) && it.url.length <= MAX_URL))
  return it?.type === 'button' && isWithin ? [] : [`[ERROR] invalid button [json-pointer:${at}]`]
}

function richFaults(element: Json, at: string): string[] {
  const known = ['rich_text_section', 'rich_text_preformatted', 'rich_text_quote']
  if (!known.includes(element?.type)) return [`[ERROR] unsupported type [json-pointer:${at}]`]
  return element.elements.flatMap((it: Json, i: number) =>
    it?.type === 'text' && typeof it.text === 'string' && it.text.length > 0
      ? []
      : [`[ERROR] must be more than 0 characters [json-pointer:${at}/elements/${i}]`],
  )
}

/** All that a block shows. */
export function textsOf(block: Json): string[] {
  const { type, text, fields = [], elements = [] } = block ?? {}
  if (type === 'actions') return elements.map((it: Json) => it.text.text)
  if (type === 'rich_text') return elements.flatMap((it: Json) => it.elements.map((run: Json) => run.text))
  return [
    ...(text ? [text.text] : []),
    ...fields.map((it: Json) => it.text),
    ...elements.map((it: Json) => it.text),
  ]
}

/** The texts that Slack looks for pings and links in. */
export function parsedTexts(text: string, blocks: Json[], attachments: Json[]): string[] {
  const all = [...blocks, ...attachments.flatMap((it) => it.blocks ?? [])]
  const isParsed = (it: Json) => it.type !== 'rich_text' && it.type !== 'actions'
  const legacy = attachments.flatMap((it) =>
    [it.text, it.pretext, it.title].filter((one) => typeof one === 'string'),
  )
  return [text, ...legacy, ...all.filter(isParsed).flatMap(textsOf)]
}
