import type { Answer, ReceivedRequest } from '../../../servers/receiver.ts'
import { json, jsonIn, type Service } from './service.ts'

const INDEX = /^(?![-_+])[^A-Z\\/*?"<>| ,#:]{1,255}$/

/** A document that the bulk API of Elasticsearch was asked to create. */
export interface Document {
  index: string
  id: string
  document: any
}

/** The default `dynamic_date_formats`. Pure numbers are no dates. */
const DATE = /^\d{4}-\d\d(-\d\d(T[\d:.]*(Z|[+-]\d\d:?\d\d)?)?)?$|^\d{4}\/\d\d\/\d\d [+-]\d{4}$/

/**
 * The bulk API as Elasticsearch 8 documents it: actions, status of each item, conflicts of `create`. The first text of a field decides
 * whether it is a date (`date_detection`).
 */
export function createElasticsearch() {
  const documents: Document[] = []
  const known = new Set<string>()
  const dates = new Map<string, boolean>()
  let detectsDates = true
  let refuse: (it: Document) => number | undefined = () => undefined

  function create(index: string, id: string, document: unknown) {
    const it = { index, id, document }
    const error = (status: number, type: string, reason = `of ${id}`) => ({
      create: { status, error: { type, reason } },
    })
    if (!INDEX.test(index)) return error(400, 'invalid_index_name_exception')
    if (Buffer.byteLength(id) > 512) return error(400, 'action_request_validation_exception')
    if (typeof document !== 'object' || document === null) return error(400, 'document_parsing_exception')
    const status = refuse(it)
    if (status !== undefined)
      return error(status, status === 429 ? 'es_rejected_execution_exception' : 'of_test')
    const key = JSON.stringify([index, id])
    if (known.has(key)) return error(409, 'version_conflict_engine_exception')
    for (const [field, value] of Object.entries(document)) {
      if (typeof value !== 'string') continue
      const isDate = detectsDates && DATE.test(value)
      const own = JSON.stringify([index, field])
      if (!dates.has(own)) dates.set(own, isDate)
      if (dates.get(own) && !isDate)
        return error(
          400,
          'document_parsing_exception',
          `[1:73] failed to parse field [${field}] of type [date] in document with id '${id}'. Preview of field's value: '${value}'`,
        )
    }
    known.add(key)
    documents.push(it)
    return { create: { status: 201 } }
  }

  const service: Service = {
    name: 'elasticsearch',
    forget() {
      documents.length = 0
      known.clear()
      dates.clear()
    },
    options: { headers: { authorization: 'ApiKey the-right-key' } },
    wrong: { options: { headers: { authorization: 'ApiKey a-wrong-key' } }, status: 401 },
    throttled: { status: 429, headers: { 'retry-after': '1' } },
    answer({ method, path, headers, body }) {
      if (headers.authorization !== 'ApiKey the-right-key') return json(401, { error: 'security_exception' })
      if (method !== 'POST' || !path.startsWith('/_bulk')) return json(404, { error: 'no handler' })
      if (headers['content-type'] !== 'application/x-ndjson') return json(406, { error: 'content type' })
      const refused = (reason: string) => json(400, { error: { type: 'illegal_argument_exception', reason } })
      if (!body.endsWith('\n')) return refused('The bulk request must be terminated by a newline [\\n]')
      const lines = body.slice(0, -1).split('\n').map(jsonIn)
      if (lines.length % 2 !== 0 || lines.some((it) => it === undefined)) return refused('malformed line')
      const items = lines.flatMap((action, i) =>
        i % 2 === 0 ? [create(action.create._index, action.create._id, lines[i + 1])] : [],
      )
      return json(200, { errors: items.some((it) => it.create.status >= 300), items })
    },
  }
  return {
    service,
    documents,
    refuseItems(next: typeof refuse) {
      refuse = next
    },
    /** As `date_detection` of an index template. */
    detectDates(it: boolean) {
      detectsDates = it
    },
  }
}

const HOUR_MS = 3_600_000
const MAX_LINE = 262_144

/**
 * The push API as Loki 3.7.8 answered when it was asked by hand: valid lines of a request are stored also where others are refused,
 * a line that is an hour older than the newest of its stream is "too far behind".
 */
export function createLoki(clock: { now(): number } = Date) {
  const lines: { labels: Record<string, string>; ms: number; line: string }[] = []
  const newest = new Map<string, number>()

  function faultOf(labels: Record<string, string>, value: unknown): string | undefined {
    const [ns, line, more] = value as [unknown, unknown, unknown]
    if (typeof ns !== 'string' || !/^\d{19}$/.test(ns) || typeof line !== 'string') return 'malformed'
    if (more !== undefined && typeof more !== 'object') return 'malformed'
    const ms = Number(BigInt(ns) / 1_000_000n)
    const names = Object.entries(labels)
    if (names.length > 15) return 'max label names'
    if (names.some(([name, it]) => !/^[A-Za-z_]\w*$/.test(name) || it.length > 2_048)) return 'label'
    if (Buffer.byteLength(line) > MAX_LINE) return `max entry size '${MAX_LINE}' bytes exceeded`
    if (ms > clock.now() + 600_000) return 'entry has timestamp too new'
    const key = JSON.stringify(labels)
    if (ms < (newest.get(key) ?? 0) - HOUR_MS) return 'entry too far behind'
    newest.set(key, Math.max(ms, newest.get(key) ?? 0))
    lines.push({ labels, ms, line })
    return undefined
  }

  const service: Service = {
    name: 'loki',
    forget: () => void lines.splice(0),
    options: { auth: { basic: { username: 'tenant', password: 'the-right-password' } } },
    wrong: { options: { auth: { basic: { username: 'tenant', password: 'a-wrong-one' } } }, status: 401 },
    throttled: { status: 429, body: 'ingestion rate limit exceeded' },
    answer({ method, path, headers, body }) {
      const right = `Basic ${Buffer.from('tenant:the-right-password').toString('base64')}`
      if (headers.authorization !== right) return { status: 401, body: 'no org id' }
      if (method !== 'POST' || path !== '/loki/api/v1/push') return { status: 404, body: 'page not found' }
      const streams = jsonIn(body)?.streams
      if (!Array.isArray(streams)) return { status: 400, body: 'skipThreeBytes: expect ull' }
      if (streams.length === 0) return { status: 422, body: 'error at least one valid stream is required' }
      const faults = streams.flatMap(({ stream, values }) =>
        values.flatMap((value: unknown) => faultOf(stream, value) ?? []),
      )
      return faults.length > 0 ? { status: 400, body: faults.join('\n') } : { status: 204 }
    },
  }
  return { service, lines }
}

/** VictoriaLogs 1.52.1 drops lines that it cannot read, with 200 to all of them; this one refuses the request, so that tests see it. */
export function createVictoriaLogs(): Service {
  return {
    name: 'victorialogs',
    options: { auth: { bearer: 'the-right-token' } },
    wrong: { options: { auth: { bearer: 'a-wrong-token' } }, status: 401 },
    throttled: { status: 429, headers: { 'retry-after': '1' } },
    answer({ method, path, headers, body }) {
      if (headers.authorization !== 'Bearer the-right-token') return { status: 401 }
      const url = new URL(path, 'http://x')
      if (method !== 'POST' || url.pathname !== '/insert/jsonline')
        return { status: 400, body: 'unsupported path' }
      const [time, text] = ['_time_field', '_msg_field'].map((it) => url.searchParams.get(it) ?? '')
      for (const line of body.trim().split('\n')) {
        const entry = jsonIn(line)
        if (Buffer.byteLength(line) > MAX_LINE || !entry?.[text!] || !(Date.parse(entry[time!]) > 0))
          return { status: 400, body: 'a line that would be dropped' }
      }
      return { status: 200 }
    },
  }
}

/** The HTTP Event Collector, by its table of codes. */
export function createSplunk(): Service {
  return {
    name: 'splunk',
    options: { token: 'the-right-token', index: 'kubernetes' },
    wrong: { options: { token: 'a-wrong-token', index: 'kubernetes' }, status: 403 },
    throttled: json(503, { text: 'Server is busy', code: 9 }),
    answer({ method, path, headers, body }) {
      if (headers.authorization === undefined) return json(401, { text: 'Token is required', code: 2 })
      if (headers.authorization !== 'Splunk the-right-token')
        return json(403, { text: 'Invalid token', code: 4 })
      if (method !== 'POST' || path !== '/services/collector/event')
        return json(404, { text: 'not found', code: 404 })
      const events = body.split('\n').map(jsonIn)
      for (const [i, it] of events.entries()) {
        const fault = (text: string, code: number) => json(400, { text, code, 'invalid-event-number': i })
        if (it === undefined) return fault('Invalid data format', 6)
        if (it.event === undefined) return fault('Event field is required', 12)
        if (it.event === '' || it.event === null) return fault('Event field cannot be blank', 13)
        if (it.index !== 'kubernetes') return fault('Incorrect index', 7)
        if (typeof it.time !== 'number') return fault('Invalid data format', 6)
      }
      return json(200, { text: 'Success', code: 0 })
    },
  }
}

/** The logs intake, version 2, by its documentation. */
export function createDatadog(): Service {
  return {
    name: 'datadog',
    options: { apiKey: 'the-right-key' },
    wrong: { options: { apiKey: 'a-wrong-key' }, status: 403 },
    throttled: { status: 429, headers: { 'retry-after': '1' } },
    answer({ method, headers, body }: ReceivedRequest): Answer {
      if (headers['dd-api-key'] !== 'the-right-key') return json(403, { errors: [{ title: 'Forbidden' }] })
      if (method !== 'POST') return json(404, {})
      if (Buffer.byteLength(body) > 5_000_000) return json(413, { errors: [{ title: 'Payload too large' }] })
      const logs = jsonIn(body)
      const isLog = (it: any) =>
        typeof it?.message === 'string' &&
        Number.isInteger(it.timestamp) &&
        it.timestamp > Date.now() - 18 * HOUR_MS &&
        Object.entries(it).every(([name, value]) => name === 'timestamp' || typeof value === 'string') &&
        Buffer.byteLength(JSON.stringify(it)) <= 1_000_000
      if (!Array.isArray(logs) || logs.length > 1_000 || !logs.every(isLog))
        return json(400, { errors: ['a log'] })
      return json(202, {})
    },
  }
}
