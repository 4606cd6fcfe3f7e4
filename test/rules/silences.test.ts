import { expect, test } from 'vitest'
import type { Silence, SilencedEvent, SilenceMatch, Silences } from '../../src/model/control.ts'
import { headerOf } from '../../src/model/event.ts'
import { type AskedSilence, checkSilence } from '../../src/rules/silences/check-silence.ts'
import {
  compileSilence,
  matchText,
  parseMatch,
  silencedEvent,
} from '../../src/rules/silences/silence-match.ts'
import { createSilences, silencedUntil } from '../../src/rules/silences/silences.ts'
import { headerFor } from '../store/objects.ts'
import { clusterEvent, DATABASE, DEPLOYMENT, EVENT } from './events.ts'

const NOW_MS = Date.parse('2026-11-26T10:00:00Z')
const HOUR_MS = 3_600_000

test.each<[string, object]>([
  ['namespace=shop, rule=crash-*', { namespace: 'shop', rule: 'crash-*' }],
  ['namespace=shop|pay-*', { namespace: ['shop', 'pay-*'] }],
  ['reason!=OOMKilling|BackOff', { reason: ['!OOMKilling', '!BackOff'] }],
  ['name=/^(a|b)$/|web', { name: ['/^(a|b)$/', 'web'] }],
  [
    'labels=team in (shop, pay),tier=db, namespace=shop',
    { labels: 'team in (shop, pay),tier=db', namespace: 'shop' },
  ],
  ['message=one, two', { message: 'one, two' }],
  ['regarding.kind=Pod, regarding.name=web-*', { regarding: { kind: 'Pod', name: 'web-*' } }],
  ['constructor=x', { constructor: 'x' }],
])('%s is read as conditions', (text, match) => {
  expect(parseMatch([text])).toEqual({ ok: true, value: match })
})

test('several texts add up, a text of a match reads as the same match, and a key comes once', () => {
  const match = { namespace: ['a', 'b'], sink: 'oncall', regarding: { name: 'web' } }
  expect(parseMatch(['namespace=a|b', 'sink=oncall,regarding.name=web'])).toEqual({ ok: true, value: match })
  expect(parseMatch([matchText(match)])).toEqual({ ok: true, value: match })
  expect(parseMatch(['sink=a', 'sink=b'])).toMatchObject({ ok: false, faults: [{ path: ['sink'] }] })
  for (const text of ['namespace', '__proto__=x', '=x', 'namespace=', 'shop, namespace=a'])
    expect(parseMatch([text]), text).toMatchObject({ ok: false })
})

test.each([
  'labels!=team=shop',
  'labels != team',
  'annotations!=owner',
  'namespace=shop, labels!=team=a,tier=b',
])(
  '%s is refused: a selector has its own negation, and without it the opposite would be silenced',
  (text) => {
    const key = text.includes('labels') ? 'labels' : 'annotations'
    expect(parseMatch([text])).toMatchObject({ ok: false, faults: [{ path: [key] }] })
  },
)

test.each<[SilenceMatch, (string | number)[]]>([
  [{ nmae: 'x' }, ['nmae']],
  [{ age: '<5m' }, ['age']],
  [{ owner: 'Deployment/web' }, ['owner']],
  [{ namespaceLabels: 'a=b' }, ['namespaceLabels']],
  [{ regarding: { labels: 'a=b' } }, ['regarding', 'labels']],
  [{ namespace: '/(/' }, ['namespace']],
  [{ rule: ['a', '/(/'] }, ['rule', 1]],
  [{ kind: 7 }, ['kind']],
  [{ namespace: [] }, ['namespace']],
])('%j is refused at the condition', (match, path) => {
  expect(compileSilence(match)).toMatchObject({ ok: false, faults: [{ path }] })
})

function silence(match: SilenceMatch, more: Partial<Silence> = {}): Silence {
  const times = { fromMs: NOW_MS, untilMs: NOW_MS + HOUR_MS, createdMs: NOW_MS }
  return { id: 'a', match, ...times, reason: '', by: 'alice', ...more }
}

const web = clusterEvent({
  resource: DEPLOYMENT,
  namespace: 'shop',
  name: 'web',
  labels: { team: 'shop' },
  annotations: { owner: 'ann' },
})
const backOff = clusterEvent({
  resource: EVENT,
  namespace: 'shop',
  name: 'web-1.17a',
  event: {
    ...{ type: 'Warning', reason: 'BackOff', message: 'Back-off restarting', count: 3 },
    regarding: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
  },
})

test.each<[SilenceMatch, boolean, boolean]>([
  [{ namespace: 'shop' }, true, true],
  [{ namespace: '!shop' }, false, false],
  [{ kind: 'deploy*' }, true, false],
  [{ kind: 'deployments.apps' }, true, false],
  [{ labels: 'team=shop' }, true, false],
  [{ annotations: { owner: 'ann' } }, true, false],
  [{ type: 'Warning' }, false, true],
  [{ reason: 'BackOff', regarding: { name: 'web-*' } }, false, true],
  [{ message: '*restarting*' }, false, true],
  [{ namespace: 'shop', rule: 'r', sink: ['s', 't'] }, true, true],
  [{ namespace: 'shop', rule: 'other' }, false, false],
  [{ sink: '!s' }, false, false],
  [{}, true, true],
])('%j matches a Deployment: %s, an Event: %s', (match, ofWeb, ofBackOff) => {
  const silences = createSilences([silence(match)])
  expect(silences?.find('r', 's', web, NOW_MS) !== undefined).toBe(ofWeb)
  expect(silences?.find('r', 's', backOff, NOW_MS) !== undefined).toBe(ofBackOff)
})

test('a stored event matches as it did when it came, also one whose object is damaged', () => {
  const header = {
    ...headerFor('web', '1', 'MODIFIED', 'u'),
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace: 'shop',
  }
  const json = Buffer.from('{"metadata":{"labels":{"team":"shop"},"annotations":{"owner":"ann"}}}')
  const find = (match: SilenceMatch, object: Buffer) =>
    createSilences([silence(match)])?.find('r', 's', silencedEvent(header, object), NOW_MS) !== undefined
  expect(find({ kind: 'Deployment', labels: 'team=shop', annotations: 'owner=ann' }, json)).toBe(true)
  expect(find({ labels: 'team=shop' }, Buffer.from('{'))).toBe(false)
  expect(find({ kind: 'deploy' }, Buffer.from('{'))).toBe(true)
})

test('the plural of a custom resource matches, also where its kind does not imply it', () => {
  const plural = 'network-attachment-definitions'
  const event = clusterEvent({
    resource: { ...DATABASE, group: 'k8s.cni.cncf.io', kind: 'NetworkAttachmentDefinition', plural },
  })
  const match = { kind: `${plural}.k8s.cni.cncf.io` }
  const silences = createSilences([silence(match)])
  for (const it of [event, silencedEvent(headerOf(event), '{}')])
    expect(silences?.find('r', 's', it, NOW_MS)).toMatchObject({ match })
})

test('a silence begins at its first millisecond, ends before its last, and another one can follow', () => {
  const second = silence({}, { id: 'b', fromMs: NOW_MS + HOUR_MS, untilMs: NOW_MS + 2 * HOUR_MS })
  const silences = createSilences([silence({ sink: 's' }), second])
  const at = (ms: number, sink = 's') => silences?.find('r', sink, web, NOW_MS + ms)?.id
  expect([at(-1), at(0), at(HOUR_MS - 1), at(HOUR_MS), at(2 * HOUR_MS)]).toEqual([
    undefined,
    'a',
    'a',
    'b',
    undefined,
  ])
  const waiting = { rule: 'r', event: web }
  expect(silencedUntil(silences, { ...waiting, sinks: ['s'] }, NOW_MS)).toBe(NOW_MS + 2 * HOUR_MS)
  expect(silencedUntil(silences, { ...waiting, sinks: ['s', 't'] }, NOW_MS)).toBe(NOW_MS)
  expect(createSilences([])).toBeUndefined()
})

test('what matched another event, rule or sink before does not count', () => {
  const matches: SilenceMatch[] = [
    { namespace: 'shop', type: 'ADDED' },
    { kind: 'Event', namespace: 'pay' },
    { rule: 'r', labels: 'team=shop' },
    { sink: 't', reason: 'BackOff' },
    { type: 'Warning', rule: 'q' },
    { kind: 'Deployment', name: 'web' },
  ]
  const all = matches.map((match, i) => silence(match, { id: String(i), untilMs: NOW_MS + HOUR_MS - i }))
  const silences = createSilences(all)
  const changes = ['ADDED', 'MODIFIED', 'DELETED'] as const
  const events = [web, backOff].flatMap((event) =>
    changes.flatMap((type) => ['shop', 'pay', undefined].map((namespace) => ({ ...event, type, namespace }))),
  )
  type Asked = Parameters<Silences['find']>
  const asked = events.flatMap((event) =>
    ['r', 'q'].flatMap((rule) =>
      ['s', 't'].map((sink): Asked => [rule, sink, event as SilencedEvent, NOW_MS]),
    ),
  )
  const found = (it: Asked) => silences?.find(...it)?.id
  const expected = (it: Asked) => all.find((one) => createSilences([one])?.find(...it))?.id
  expect([...new Set(asked.map(expected))].toSorted()).toEqual(['0', '1', '2', '3', '4', '5', undefined])
  expect(asked.map(found)).toEqual(asked.map(expected))
  expect(asked.toReversed().map(found)).toEqual(asked.toReversed().map(expected))
})

test('a value that is too long for a pattern is not silenced, and the silence is reported', () => {
  const silences = createSilences([silence({ name: '/(a|b){1,400}z/' }), silence({ sink: 't' }, { id: 'b' })])
  const long = { ...web, name: 'x'.repeat(5_000) }
  const untested: string[] = []
  expect(silences?.find('r', 's', long, NOW_MS, ({ id }) => untested.push(id))).toBeUndefined()
  expect(untested).toEqual(['a'])
  expect(silences?.find('r', 't', long, NOW_MS)?.id).toBe('b')
})

test('a silence that this version cannot compile is reported and left out', () => {
  const faults: string[] = []
  const silences = createSilences([silence({ future: 'x' }), silence({}, { id: 'b' })], ({ id }) =>
    faults.push(id),
  )
  expect(faults).toEqual(['a'])
  expect(silences?.find('r', 's', web, NOW_MS)?.id).toBe('b')
})

const KNOWN = { rules: ['crash-loops', 'oom'], sinks: ['oncall'] }

test.each<[string, Partial<AskedSilence>, string[]]>([
  ['without a match', { match: {} }, ['match']],
  ['past', { untilMs: NOW_MS }, ['untilMs']],
  ['with its end before its begin', { fromMs: NOW_MS + 2 * HOUR_MS }, ['untilMs']],
  ['for ever', { untilMs: Number.POSITIVE_INFINITY }, ['untilMs']],
  ['for two years', { untilMs: NOW_MS + 730 * 24 * HOUR_MS }, ['untilMs']],
  ['of an unknown rule', { match: { rule: ['oom', 'crash-lops'] } }, ['match', 'rule']],
  ['of no rule', { match: { rule: 'other-*' } }, ['match', 'rule']],
  ['of an unknown sink', { match: { sink: 'onkall' } }, ['match', 'sink']],
  ['with an unknown condition', { match: { nmae: 'x' } }, ['match', 'nmae']],
  ['of nobody', { by: ' ' }, ['by']],
  ['with a long reason', { reason: 'x'.repeat(501) }, ['reason']],
])('a silence %s is refused', (_, more, path) => {
  const asked = {
    match: { rule: 'crash-*' },
    fromMs: NOW_MS,
    untilMs: NOW_MS + HOUR_MS,
    reason: '',
    by: 'alice',
  }
  expect(checkSilence(asked, KNOWN, NOW_MS)).toMatchObject({ ok: true, value: asked })
  expect(checkSilence({ ...asked, ...more }, KNOWN, NOW_MS)).toMatchObject({ ok: false, faults: [{ path }] })
})

test('everything is silenced on demand, and names are not compared where none is known', () => {
  const asked = { match: {}, fromMs: NOW_MS, untilMs: NOW_MS + HOUR_MS, reason: '', by: 'alice', all: true }
  expect(checkSilence(asked, KNOWN, NOW_MS).ok).toBe(true)
  const unknown = { rules: undefined, sinks: undefined }
  expect(checkSilence({ ...asked, match: { rule: 'any' } }, unknown, NOW_MS).ok).toBe(true)
})
