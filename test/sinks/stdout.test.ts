import { PassThrough, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { jsonLine, openOutput, textLine } from '../../sinks/stdout/index.ts'
import { type EventHeader, type Message, TemplateFault } from '../../src/sink/index.ts'
import { messageOf } from './bed.ts'

function message(event: Partial<EventHeader> = {}): Message {
  return messageOf({ type: 'ADDED', uid: 'u', event })
}

const never = new AbortController().signal
const outputOf = (stream: PassThrough) => stream as unknown as NodeJS.WriteStream

test('not on a terminal: a CloudEvent a line', async () => {
  const stream = new PassThrough()
  const sink = openOutput(outputOf(stream), 'auto')
  expect(await sink.deliver([message(), message({ name: 'other', id: 'other' })], never)).toEqual([
    { kind: 'delivered' },
    { kind: 'delivered' },
  ])
  const lines = String(stream.read())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toMatchObject([{ specversion: '1.0', name: 'web' }, { name: 'other' }])
})

test('for people: when, how bad, and what happened', () => {
  expect(textLine(message(), false)).toBe('15:06:40  info      ConfigMap default/web was created  [all]\n')
})

test('as a message: what chats show', async () => {
  const stream = new PassThrough()
  const sink = openOutput(outputOf(stream), 'message')
  const event = {
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off\u001b[31m restarting\nfailed container',
    count: 3,
    regarding: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
  }
  const told = message({ kind: 'Event', cluster: 'prod', event })
  expect(await sink.deliver([told], never)).toEqual([{ kind: 'delivered' }])
  const text = String(stream.read())
  expect(text).toMatch(/^🔴 \[prod\] Pod shop\/web-1 is crash-looping/)
  expect(text).toContain('\n   > failed container\n')
  expect(text).toContain('\n   $ kubectl -n shop logs web-1 --previous\n')
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
})

test('as messages: one that cannot be made is a dead letter, the others are printed', async () => {
  const stream = new PassThrough()
  const sink = openOutput(outputOf(stream), 'message')
  const broken = Object.create(message({ id: 'broken' }), {
    id: { value: 'broken' },
    content: {
      get() {
        throw Object.assign(new Error('title: too slow'), { name: 'TemplateFault' })
      },
    },
  })
  expect(await sink.deliver([broken, message()], never)).toEqual([
    { kind: 'rejected', reason: 'render', detail: 'title: too slow' },
    { kind: 'delivered' },
  ])
  expect(String(stream.read())).toContain('ConfigMap default/web')
})

test('an Event tells what happened to what it is about, how often, and what it says', () => {
  const event = {
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container app',
    count: 3,
    regarding: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
  }
  expect(textLine(message({ kind: 'Event', apiVersion: 'v1', event }), false)).toBe(
    '15:06:40  error     Pod shop/web-1 is crash-looping, 3rd back-off  Back-off restarting failed container app  [all]\n',
  )
})

test('what a rule says in its message is what is printed', async () => {
  const stream = new PassThrough()
  const own = { ...message(), id: 'own', rule: 'r', event: message().event } as Message
  const content = { ...message().content, title: 'as the rule says' }
  const failing = { ...own, id: 'failing' } as Message
  Object.defineProperty(own, 'content', { value: content })
  Object.defineProperty(failing, 'content', {
    get() {
      throw new TemplateFault('kubeherald.yaml:3:5: too much work')
    },
  })
  const sink = openOutput(outputOf(stream), 'text')
  expect(await sink.deliver([own, failing], never)).toEqual([
    { kind: 'delivered' },
    { kind: 'rejected', reason: 'render', detail: 'kubeherald.yaml:3:5: too much work' },
  ])
  expect(String(stream.read())).toBe('15:06:40  info      as the rule says  [r]\n')
})

test('object data cannot colour the terminal or move its cursor', () => {
  const event = {
    type: 'Normal\u001b[8m',
    reason: 'X',
    message: 'a\u001b[31mred\u009b2J\r\nb',
    count: 1,
    regarding: { kind: 'Pod', name: 'x\u001b]0;t\u0007\u202e' },
  }
  const line = textLine(message({ event }), false)
  expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
})

test('neither does JSON, which says the same, on one line whatever its object was made of', () => {
  const text = 'a\u009b2J\u001b[31m\u007f\u2028\u202e\u2066 ü 👩‍👩‍👧'
  const { cloudEvent } = messageOf({ object: { text } })
  const spread = Buffer.from(cloudEvent.toString().replace('"data":', '"data":\r\n'))
  const line = jsonLine({ cloudEvent: spread })
  expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/)
  expect(JSON.parse(line)).toEqual(JSON.parse(cloudEvent.toString()))
  expect(line).toContain('ü 👩‍👩‍👧')
})

/** Takes nothing until it is told to go on. */
function stalled() {
  let text = ''
  const waiting: (() => void)[] = []
  let open = false
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      if (open) done()
      else waiting.push(done)
    },
  })
  return {
    stream: stream as unknown as NodeJS.WriteStream,
    ids: () => [...text.matchAll(/"id":"(\d+)"/g)].map(([, id]) => id),
    goOn(): void {
      open = true
      for (const done of waiting.splice(0)) done()
    },
  }
}

const DELIVERED = { kind: 'delivered' }
const STALLED = { kind: 'retry', scope: 'sink', detail: expect.stringContaining('stalled') }
const numbered = (...ids: number[]) => ids.map((id) => message({ id: String(id) }))

test('a delivery counts only when the stream has taken it', async () => {
  const reader = stalled()
  const sink = openOutput(reader.stream, 'json')
  let done = false
  const delivery = sink.deliver(numbered(1), never).then((outcomes) => {
    done = true
    return outcomes
  })
  await new Promise(setImmediate)
  expect(done).toBe(false)
  reader.goOn()
  expect(await delivery).toEqual([DELIVERED])
})

test('a delivery to a reader that stalls ends with its signal', async () => {
  const sink = openOutput(stalled().stream, 'json')
  const stop = new AbortController()
  const delivery = sink.deliver(numbered(1), stop.signal)
  stop.abort()
  expect(await delivery).toMatchObject([STALLED])
  expect(await sink.deliver(numbered(1), stop.signal)).toMatchObject([STALLED])
})

test('what waits in the buffer is not written again, only waited for', async () => {
  const reader = stalled()
  const sink = openOutput(reader.stream, 'json')
  for (let i = 0; i < 3; i++) {
    const stop = new AbortController()
    const delivery = sink.deliver(numbered(1, 2), stop.signal)
    stop.abort()
    expect(await delivery).toMatchObject([STALLED, STALLED])
  }
  const delivery = sink.deliver(numbered(1, 2, 3), never)
  reader.goOn()
  expect(await delivery).toEqual([DELIVERED, DELIVERED, DELIVERED])
  expect(reader.ids()).toEqual(['1', '2', '3'])
})

test('what the stream took between two calls is not written again either', async () => {
  const reader = stalled()
  const sink = openOutput(reader.stream, 'json')
  const stop = new AbortController()
  const first = sink.deliver(numbered(1), stop.signal)
  stop.abort()
  await first
  reader.goOn()
  expect(await sink.deliver(numbered(1), never)).toEqual([DELIVERED])
  expect(await sink.deliver(numbered(1), never)).toEqual([DELIVERED])
  expect(reader.ids()).toEqual(['1', '1'])
})

test('what a stalled reader took in the end is not written again, though it comes one by one, between others', async () => {
  const reader = stalled()
  const sink = openOutput(reader.stream, 'json')
  const stop = new AbortController()
  const first = sink.deliver(numbered(1, 2, 3), stop.signal)
  stop.abort()
  expect(await first).toMatchObject([STALLED, STALLED, STALLED])
  reader.goOn()
  for (const id of [1, 4, 2, 3]) expect(await sink.deliver(numbered(id), never)).toEqual([DELIVERED])
  expect(reader.ids()).toEqual(['1', '2', '3', '4'])
})

test('a reader that went away is a failure of the sink: nothing is lost', async () => {
  const stream = new PassThrough()
  const sink = openOutput(outputOf(stream), 'json')
  stream.destroy(Object.assign(new Error('broken pipe'), { code: 'EPIPE' }))
  expect(await sink.deliver([message()], never)).toMatchObject([
    { kind: 'retry', scope: 'sink', detail: expect.stringContaining('nobody reads') },
  ])
})
