import { json, jsonIn, type Service, textFault } from './service.ts'

/** An alert of Opsgenie as it is after requests. */
export interface Alert {
  status: 'open' | 'acknowledged' | 'closed'
  notes: string[]
}

/** The alert API, version 2: it answers 202 before it looks at the alert. */
export function createOpsgenie() {
  const alerts = new Map<string, Alert>()
  const accepted = json(202, { result: 'Request will be processed', took: 0.1, requestId: 'r' })
  const service: Service = {
    name: 'opsgenie',
    forget: () => alerts.clear(),
    options: { apiKey: 'the-right-key' },
    wrong: { options: { apiKey: 'a-wrong-key' }, status: 422 },
    throttled: { status: 429, body: '{"message":"You are making too many requests!"}' },
    answer({ method, path, headers, body }) {
      if (headers.authorization !== 'GenieKey the-right-key')
        return json(422, { message: 'Key format is not valid!', took: 0, requestId: 'r' })
      const url = new URL(path, 'http://x')
      const [, alias, action] = /^\/v2\/alerts(?:\/([^/]+)\/(\w+))?$/.exec(url.pathname) ?? [undefined]
      const it = jsonIn(body)
      if (method !== 'POST' || it === undefined || !url.pathname.startsWith('/v2/alerts'))
        return json(422, {})
      const limits = { message: 130, alias: 512, description: 15_000, entity: 512, source: 100, note: 25_000 }
      const fault = textFault(it, limits)
      if (fault) return json(422, { message: fault })
      if (action === undefined) {
        const details = Object.values(it.details ?? {}) as unknown[]
        if (!it.message || !/^P[1-5]$/.test(it.priority)) return json(422, { message: 'message' })
        if (details.some((value) => typeof value !== 'string') || details.join('').length > 8_000)
          return json(422, { message: 'details' })
        if (it.tags.length > 20 || it.tags.some((tag: string) => tag.length > 50))
          return json(422, { message: 'tags' })
        const known = alerts.get(it.alias)
        if (known?.status !== 'open') alerts.set(it.alias, { status: 'open', notes: [] })
        return accepted
      }
      if (url.searchParams.get('identifierType') !== 'alias') return json(422, { message: 'identifierType' })
      const alert = alerts.get(decodeURIComponent(alias ?? ''))
      if (alert && it.note) alert.notes.push(it.note)
      if (alert && action === 'close') alert.status = 'closed'
      if (alert && action === 'acknowledge') alert.status = 'acknowledged'
      return ['close', 'acknowledge', 'notes'].includes(action) ? accepted : json(404, {})
    },
  }
  return { service, alerts }
}

/** An HTTP alert source. */
export function createIncidentIo(): Service {
  return {
    name: 'incident-io',
    options: { token: 'the-right-token' },
    wrong: { options: { token: 'a-wrong-token' }, status: 401 },
    throttled: { status: 429, headers: { 'retry-after': '1' } },
    answer({ headers, body }) {
      if (headers.authorization !== 'Bearer the-right-token')
        return json(401, { type: 'authentication_error' })
      const it = jsonIn(body)
      const isAlert = it?.title && ['firing', 'resolved'].includes(it.status) && it.deduplication_key
      return isAlert ? json(202, { status: 'success' }) : json(422, { type: 'validation_error' })
    },
  }
}

/** A formatted webhook: any JSON; the address is the credential. */
export function createOncall(): Service {
  return {
    name: 'grafana-oncall',
    options: { headers: { authorization: 'the-right-one' } },
    wrong: { options: { headers: { authorization: 'a-wrong-one' } }, status: 403 },
    throttled: { status: 429, body: 'rate limit exceeded' },
    answer({ headers, body }) {
      if (headers.authorization !== 'the-right-one') return { status: 403 }
      const it = jsonIn(body)
      const isAlert = it?.alert_uid && it.title && ['ok', 'alerting'].includes(it.state)
      return isAlert ? { status: 200, body: 'Ok.' } : { status: 400 }
    },
  }
}

/** Events API, version 2. */
export function createPagerduty(): Service {
  return {
    name: 'pagerduty',
    options: { routingKey: 'the-right-key' },
    wrong: { options: { routingKey: 'a-wrong-key' }, status: 400 },
    throttled: { status: 429, headers: { 'retry-after': '1' } },
    answer({ path, body }) {
      if (path !== '/v2/enqueue') return { status: 404 }
      const it = jsonIn(body)
      if (it?.routing_key !== 'the-right-key') return json(400, { errors: ["'routing_key' is invalid"] })
      const isEvent = it.event_action !== 'trigger' || (it.payload?.summary && it.payload.source)
      return it.dedup_key && isEvent ? json(202, { status: 'success' }) : json(400, { errors: ['payload'] })
    },
  }
}

/**
 * Alerts, API version 2. A posted alert is merged with the one that has its labels as Alertmanager's `Put` and `Merge` do it
 * (`provider/mem/mem.go`, `alert/alert.go`). `behindMs`: how far its clock is behind ours.
 */
export function createAlertmanager({ behindMs = 0 } = {}) {
  const alerts = new Map<string, { startsMs: number; endsMs: number }>()
  const hasEnded = ({ endsMs }: { endsMs: number }) => endsMs <= Date.now() - behindMs

  function put({ labels, startsAt, endsAt }: { labels: object; startsAt?: string; endsAt: string }): void {
    const key = JSON.stringify(Object.entries(labels).toSorted())
    const endsMs = Date.parse(endsAt)
    const posted = { startsMs: startsAt === undefined ? endsMs : Date.parse(startsAt), endsMs }
    const old = alerts.get(key)
    const isWithin = (ms: number) => old !== undefined && ms > old.startsMs && ms < old.endsMs
    const overlaps = isWithin(posted.endsMs) || isWithin(posted.startsMs)
    alerts.set(key, old && overlaps ? merged(old, posted) : posted)
  }

  function merged(old: { startsMs: number; endsMs: number }, posted: typeof old): typeof old {
    const keepsEnd = hasEnded(posted) ? hasEnded(old) : true
    return {
      startsMs: Math.min(old.startsMs, posted.startsMs),
      endsMs: keepsEnd ? Math.max(old.endsMs, posted.endsMs) : posted.endsMs,
    }
  }

  const service: Service = {
    name: 'alertmanager',
    forget: () => alerts.clear(),
    options: { auth: { bearer: 'the-right-token' } },
    wrong: { options: { auth: { bearer: 'a-wrong-token' } }, status: 401 },
    throttled: { status: 429, headers: { 'retry-after': '1' } },
    answer({ headers, body }) {
      if (headers.authorization !== 'Bearer the-right-token') return { status: 401 }
      const posted = jsonIn(body)
      if (!Array.isArray(posted) || !posted.every((it) => it.labels?.alertname)) return { status: 400 }
      if (posted.some((it) => it.startsAt && Date.parse(it.endsAt) < Date.parse(it.startsAt)))
        return { status: 400, body: '"start time must be before end time"' }
      for (const it of posted) put(it)
      return { status: 200 }
    },
  }
  return { service, firing: () => [...alerts.values()].filter((it) => !hasEnded(it)).length }
}
