import { expect, test } from 'vitest'
import { startKubelet } from '../servers/kubelet.ts'
import { waitFor } from '../wait-for.ts'
import { type Bed, startBed } from './bed.ts'

const RULES = `
  - name: crashes
    when: { kind: Event, reason: BackOff }
    logs: { lines: 3 }
    to: [hook]
  - { name: pods, when: { kind: Pod }, logs: true, to: [hook] }
  - { name: others, when: { kind: ConfigMap }, to: [hook] }`

async function startLogBed(rules = RULES) {
  const stack = new AsyncDisposableStack()
  const bed = stack.use(
    await startBed({
      watch: `[{ kind: Event, namespaces: default }, { kind: Pod, namespaces: default }, { kind: ConfigMap, namespaces: default }]`,
      rules,
    }),
  )
  const kubelet = stack.use(await startKubelet(bed.kubernetes))
  return { bed, kubelet, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

function bodiesOf({ hook }: Bed, rule: string) {
  return hook.requests.map(({ body }) => JSON.parse(body)).filter(({ data }) => data.rule === rule)
}

const arrived = (bed: Bed, rule: string, count = 1) =>
  waitFor(() => bodiesOf(bed, rule).length >= count, { what: `${count} of rule ${rule}` })

test('the end of a log goes from the node of a real cluster into the message', async () => {
  await using it = await startLogBed()
  const { bed, kubelet } = it
  kubelet.answer = ({ query }, response) => {
    if (query.get('previous') === 'true') response.end('one\ntwo\nthree\nfour: password=hunter2\n')
    else response.end('now\n')
  }
  await kubelet.pod('default', 'web-1', ['app', 'sidecar'])
  await arrived(bed, 'pods')
  expect(bodiesOf(bed, 'pods')[0].data.logs).toEqual({ container: 'app', previous: false, text: 'now' })
  kubelet.requests.length = 0

  const involvedObject = { kind: 'Pod', namespace: 'default', name: 'web-1' }
  const fieldPath = 'spec.containers{sidecar}'
  await kubelet.event('default', 'web-1', { involvedObject: { ...involvedObject, fieldPath } })
  await arrived(bed, 'crashes')
  expect(bodiesOf(bed, 'crashes')[0].data.logs).toEqual({
    container: 'sidecar',
    previous: true,
    text: 'two\nthree\nfour: password=[redacted]',
  })
  expect(kubelet.requests.map(({ container }) => container)).toEqual(['default/web-1/sidecar'])
  expect(kubelet.requests[0]?.query.get('tailLines')).toBe('3')

  // An Event without a container, of a pod with two: the API server demands a name.
  await kubelet.event('default', 'web-1', {})
  await arrived(bed, 'crashes', 2)
  expect(bodiesOf(bed, 'crashes')[1].data.logs).toMatchObject({ container: 'app', previous: true })

  await kubelet.event('default', 'web-2', {})
  await arrived(bed, 'crashes', 3)
  expect(bodiesOf(bed, 'crashes')[2].data.logs).toEqual({ previous: true, error: expect.any(String) })

  await bed.kubernetes.request('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
  await arrived(bed, 'others')
  expect(bodiesOf(bed, 'others')[0].data).not.toHaveProperty('logs')
  const metrics = await bed.kubeherald.metrics()
  expect(metrics).toMatch(/kubeherald_log_reads_total\{outcome="read"\} 3/)
  expect(metrics).toMatch(/kubeherald_log_reads_total\{outcome="gone"\} 1/)
})

test('a node that never answers delays the deliveries with logs alone, for a bounded time; killed meanwhile, the next process reads', async () => {
  await using it = await startLogBed()
  const { bed, kubelet } = it
  const { kubernetes, kubeherald } = bed
  await kubelet.pod('default', 'web-1')
  await arrived(bed, 'pods')

  kubelet.answer = () => {}
  await kubelet.event('default', 'web-1', {})
  await waitFor(() => kubelet.requests.length >= 2, { what: 'the request for the log' })
  await kubernetes.request('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
  await arrived(bed, 'others')
  expect(bodiesOf(bed, 'crashes')).toEqual([])

  await kubeherald.kill()
  kubelet.answer = (_, response) => void response.end('it crashed\n')
  await kubeherald.start()
  await arrived(bed, 'crashes')
  expect(bodiesOf(bed, 'crashes')[0].data.logs).toMatchObject({ text: 'it crashed' })
})

test('many crashing pods send no more requests than configured, and each message says why it has no log', async () => {
  await using it = await startLogBed()
  const { bed, kubelet } = it
  kubelet.answer = (_, response) => void response.end('it crashed\n')
  await kubelet.pod('default', 'web-1')
  await arrived(bed, 'pods')
  kubelet.requests.length = 0
  const startedMs = Date.now()
  for (let i = 0; i < 60; i++) await kubelet.event('default', 'web-1', {})
  await arrived(bed, 'crashes', 60)
  const logs = bodiesOf(bed, 'crashes').map(({ data }) => data.logs)
  expect(logs.filter(({ text }) => text === 'it crashed').length).toBe(kubelet.requests.length)
  expect(logs.every(({ text, error }) => text !== undefined || /more than 5/.test(error))).toBe(true)
  const times = kubelet.requests.map(({ atMs }) => atMs)
  const seconds = ((times.at(-1) as number) - startedMs) / 1_000
  expect(times.length).toBeLessThanOrEqual(5 * seconds + 1)
})
