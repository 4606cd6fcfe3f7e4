import { expect, test } from 'vitest'
import { changesOnce, quoteUnless, withoutRepeated } from '../../src/render/repeated.ts'
import { leastCpuMs } from '../cpu-time.ts'

const same = (text: string) => text
const shown = (title: string, text = '') => ({ title, text })
const left = (fields: Record<string, string>, title: string, text = '') =>
  withoutRepeated(
    Object.entries(fields).map(([name, value]) => ({ title: name, value })),
    shown(title, text),
  ).map((it) => it.title)

test.each([
  ['Node', 'worker-3', 'Pod shop/web is starting on node worker-3'],
  ['Reason', 'BackOff', '12 × BackOff in shop (7 pods, 3m2s)'],
  ['Phase', 'Ready', 'Database shop/orders is ready, before: provisioning'],
  ['Ready', '2 of 3', 'Deployment shop/web has too few ready, 2 of 3'],
  ['Count', '3', 'Pod shop/web is crash-looping, 3rd back-off'],
  ['Count', '12', 'Pod shop/web cannot mount volume data (12 times in 5m12s)'],
  ['Restarts', '5', 'Pod shop/web is crash-looping, 5 restarts'],
])('a field %s: %s is left out below the title "%s"', (name, value, title) => {
  expect(left({ [name]: value }, title)).toEqual([])
  expect(left({ [name]: value }, 'Something', title)).toEqual([])
})

test.each([
  ['Node', 'worker-3', 'Pod shop/web is starting on node worker-30'],
  ['Role', 'worker', 'Node worker-3 is not ready'],
  ['Image', 'web:1.4', 'Pod shop/web cannot pull image acme/web:1.4'],
  ['Count', '3', 'Pod shop/web is crash-looping, 13th back-off'],
  ['Restarts', '1', 'Pod shop/web failed with exit code 1'],
  ['Revision', '2', 'Deployment shop/web is available again, 2 of 2 ready'],
])('a field %s: %s stays below the title "%s"', (name, value, title) => {
  expect(left({ [name]: value }, title)).toEqual([name])
})

test('a quote is left out if the title has all of it', () => {
  const { title, text } = shown('Node worker-3 is not ready: PLEG is not healthy')
  expect(quoteUnless('PLEG is not\n healthy.', { title, text }, same)).toBe('')
  expect(quoteUnless('PLEG is not healthy: last seen 3m ago', { title, text }, same)).not.toBe('')
})

test('values are compared in the markup of the title', () => {
  const escaped = (text: string) => text.replaceAll('<', '&lt;')
  expect(quoteUnless('a <b>', shown('it failed: a &lt;b>'), escaped)).toBe('')
})

test('reasons and messages of conditions come once: not again in the changes', () => {
  const said = 'Kubelet stopped posting node status.'
  const changes = ['MemoryPressure', 'DiskPressure', 'Ready'].flatMap((type) => [
    { path: `status.conditions[type=${type}].status`, old: 'True', new: 'Unknown' },
    { path: `status.conditions[type=${type}].reason`, old: 'KubeletReady', new: 'NodeStatusUnknown' },
    { path: `status.conditions[type=${type}].message`, old: `${type} is well`, new: said },
  ])
  const statuses = changes.filter(({ path }) => path.endsWith('.status'))
  const around = {
    ...shown('Node worker-3 is not ready'),
    fields: [{ title: 'Reason', value: 'NodeStatusUnknown' }],
  }
  expect(changesOnce(changes, { ...around, quote: said }, same)).toEqual(statuses)
  const once = changesOnce(changes, { ...around, quote: '' }, same)
  expect(once.filter((it) => it.new === said)).toHaveLength(1)
  const spec = [{ path: 'spec.message', old: 'a', new: said }]
  expect(changesOnce(spec, { ...around, quote: said }, same)).toEqual(spec)
})

test('hostile texts are compared within 50 ms', async () => {
  const long = 'a'.repeat(200_000)
  const fields = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`f${i}`, 'a'.repeat(190)]))
  const compare = () => {
    expect(left(fields, long)).toHaveLength(8)
    expect(quoteUnless(long, shown(long), same)).toBe(long)
  }
  expect(await leastCpuMs(50, compare)).toBeLessThan(50)
})
