import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ruleSetNames, ruleSetText } from '../../src/rules/sets/rule-sets.ts'
import { type Desk, openDesk } from '../cli/cli.ts'
import { runHere } from '../cli/here.ts'
import {
  available,
  claim,
  daemons,
  node,
  PROVISIONER,
  pod,
  pressure,
  scaler,
  taints,
  UNREADY,
  UNSCHEDULABLE,
  waiting,
  workload,
} from './states-that-last.ts'

/** A state that lasts: the writes of Kubernetes' controllers as they come, the newest last, and the essential words of the title. */
interface Lasting {
  rule: string
  /** Configuration of its own; else that of the rule sets. */
  rules?: object[]
  given: object[]
  /** When it was sent. */
  at: string
  title: string
  severity: string
  /** Ends it at `1h`. */
  end?: object
}

const LASTING: Record<string, Lasting> = {
  'a lost node, which gets taints': {
    rule: 'node-not-ready',
    given: [
      node('0s', {}),
      node('1m', { Ready: 'Unknown' }),
      node('61s', { Ready: 'Unknown' }, taints('unreachable')),
      node('62s', { Ready: 'Unknown' }, taints('unreachable', 'out-of-service')),
    ],
    at: '5m',
    title: 'Node w-1 is not ready.*kubelet',
    severity: 'error',
    end: node('1h', {}),
  },
  'a node whose runtime is down': {
    rule: 'node-not-ready',
    given: [
      node('0s', {}),
      node('1m', { Ready: 'False' }),
      node('61s', { Ready: 'False' }, taints('not-ready')),
    ],
    at: '5m',
    title: 'Node w-1 is not ready.*runtime is down',
    severity: 'error',
  },
  'a node that never comes up': {
    rule: 'node-not-ready',
    given: [
      node('0s', { Ready: 'False' }, { created: '2026-01-05T12:00:00Z' }),
      node('1s', { Ready: 'False' }, { created: '2026-01-05T12:00:00Z', ...taints('not-ready') }),
    ],
    at: '4m',
    title: 'Node w-1 is not ready.*runtime is down',
    severity: 'error',
  },
  'a node short of memory': {
    rule: 'node-under-memory-pressure',
    given: pressure('MemoryPressure', 'memory-pressure'),
    at: '3m',
    title: 'Node w-1 .*low on memory',
    severity: 'warning',
    end: node('1h', {}),
  },
  'a node with a full disk': {
    rule: 'node-under-disk-pressure',
    given: pressure('DiskPressure', 'disk-pressure'),
    at: '3m',
    title: 'Node w-1 .*low on disk',
    severity: 'warning',
  },
  'a node without process IDs': {
    rule: 'node-out-of-pids',
    given: pressure('PIDPressure', 'pid-pressure'),
    at: '3m',
    title: 'Node w-1 .*low on process',
    severity: 'warning',
  },
  'a Deployment that is down, and somebody who annotates it': {
    rule: 'not-available',
    given: [
      workload('Deployment', '0s', 3, available('True')),
      workload('Deployment', '1m', 0, available('False')),
      workload('Deployment', '2m', 0, available('False'), { annotations: { note: 'being looked at' } }),
    ],
    at: '7m',
    title: 'Deployment shop/web is down, 0 of 3 ready',
    severity: 'error',
    end: workload('Deployment', '1h', 3, available('True')),
  },
  'a StatefulSet that loses one pod, then another': {
    rule: 'replicas-not-ready',
    given: [
      workload('StatefulSet', '0s', 3, {}),
      workload('StatefulSet', '1m', 2, {}),
      workload('StatefulSet', '2m', 1, {}),
      workload('StatefulSet', '3m', 1, {}, { labels: { team: 'pay' } }),
    ],
    at: '17m',
    title: 'StatefulSet shop/web .*1 of 3 ready',
    severity: 'error',
    end: workload('StatefulSet', '1h', 3, {}),
  },
  'a DaemonSet that lacks a pod': {
    rule: 'daemons-not-available',
    given: [daemons('0s', 3), daemons('1m', 2), daemons('2m', 2, { labels: { team: 'ops' } })],
    at: '17m',
    title: 'DaemonSet shop/agent .*2 of 3 ready',
    severity: 'warning',
    end: daemons('1h', 3),
  },
  'a container that lacks its ConfigMap': {
    rule: 'container-cannot-start',
    given: [
      pod('0s', { phase: 'Pending' }),
      pod('1s', waiting('CreateContainerConfigError', 'configmap "settings" not found')),
      pod('20s', waiting('CreateContainerConfigError', 'configmap "settings" not found'), {
        metadata: { annotations: { 'example.com/ip': '10.0.0.7' } },
      }),
    ],
    at: '2m',
    title: 'Pod shop/web-1 .*app.*settings.* not found',
    severity: 'error',
  },
  'a pod without a node, which the autoscaler annotates': {
    rule: 'pod-without-node',
    given: [
      pod('0s', { phase: 'Pending' }),
      pod('1s', UNSCHEDULABLE),
      pod('1m', UNSCHEDULABLE, { metadata: { annotations: { 'example.com/scale-up': 'none' } } }),
    ],
    at: '11m',
    title: 'Pod shop/web-1 cannot be scheduled.*cpu',
    severity: 'error',
    end: pod(
      '1h',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }] },
      { spec: { nodeName: 'w-1' } },
    ),
  },
  'a pod that has not become ready': {
    rule: 'slow-start',
    rules: [
      {
        name: 'slow-start',
        when: { kind: 'Pod' },
        condition: { type: 'Ready', becomes: 'False', for: '10m' },
      },
    ],
    given: [pod('0s', { phase: 'Pending' }), pod('1s', UNREADY), pod('30s', UNREADY)],
    at: '11m',
    title: 'Pod shop/web-1 has not become ready.*app',
    severity: 'warning',
  },
  'a claim whose provisioner does nothing': {
    rule: 'claim-pending',
    given: [claim('0s', 'Pending'), claim('1m', 'Pending', PROVISIONER)],
    at: '12m',
    title: 'PersistentVolumeClaim shop/data is pending.*no volume',
    severity: 'warning',
    end: claim('1h', 'Bound', PROVISIONER),
  },
  'a claim that nothing was written to': {
    rule: 'pending',
    rules: [
      {
        name: 'pending',
        when: { kind: 'PersistentVolumeClaim' },
        'to-state': { 'status.phase': 'Pending' },
        for: '10m',
        resolve: true,
      },
    ],
    given: [claim('0s', 'Pending')],
    at: '12m',
    title: 'PersistentVolumeClaim shop/data is pending.*no volume',
    severity: 'warning',
    end: claim('1h', 'Bound'),
  },
  'an autoscaler at its maximum, and its metrics': {
    rule: 'capped',
    rules: [
      {
        name: 'capped',
        when: { kind: 'HorizontalPodAutoscaler' },
        condition: { type: 'ScalingLimited', becomes: 'True', reason: 'TooManyReplicas', for: '10m' },
        resolve: true,
      },
    ],
    given: [
      scaler('0s', 8, 'False', 60),
      scaler('15s', 10, 'True', 95),
      scaler('30s', 10, 'True', 97),
      scaler('45s', 10, 'True', 92),
    ],
    at: '11m',
    title: 'HorizontalPodAutoscaler shop/web .*maximum of 10 replicas',
    severity: 'warning',
    end: scaler('1h', 9, 'False', 50),
  },
  'an autoscaler that goes on': {
    rule: 'large',
    rules: [
      {
        name: 'large',
        when: { kind: 'HorizontalPodAutoscaler' },
        if: 'object.status.desiredReplicas > 5',
        for: '5m',
      },
    ],
    given: [scaler('0s', 4, 'False', 60), scaler('1m', 6, 'False', 70), scaler('2m', 9, 'False', 70)],
    at: '7m',
    title: 'HorizontalPodAutoscaler shop/web .*9 replicas',
    severity: 'info',
  },
  'a Deployment that somebody scales to 0': {
    rule: 'scaled',
    rules: [{ name: 'scaled', when: { kind: 'Deployment' }, if: 'object.spec.replicas == 0', for: '5m' }],
    given: [
      workload('Deployment', '0s', 3, available('True')),
      { ...workload('Deployment', '1m', 0, available('True')), spec: { replicas: 0 } },
      {
        ...workload('Deployment', '2m', 0, available('True'), { labels: { team: 'pay' } }),
        spec: { replicas: 0 },
      },
    ],
    at: '7m',
    title: 'Deployment shop/web .*scaled to 0',
    severity: 'info',
  },
  'a Deployment that stays paused': {
    rule: 'paused',
    rules: [{ name: 'paused', when: { kind: 'Deployment' }, 'to-state': { 'spec.paused': true }, for: '5m' }],
    given: [
      workload('Deployment', '0s', 3, available('True')),
      { ...workload('Deployment', '1m', 3, available('True')), spec: { replicas: 3, paused: true } },
      {
        ...workload('Deployment', '2m', 3, available('True'), { labels: { team: 'pay' } }),
        spec: { replicas: 3, paused: true },
      },
    ],
    at: '7m',
    title: 'Deployment shop/web was paused',
    severity: 'info',
  },
  'a paused Deployment that goes down': {
    rule: 'paused',
    rules: [{ name: 'paused', when: { kind: 'Deployment' }, 'to-state': { 'spec.paused': true }, for: '5m' }],
    given: [
      workload('Deployment', '0s', 3, available('True')),
      { ...workload('Deployment', '1m', 3, available('True')), spec: { replicas: 3, paused: true } },
      { ...workload('Deployment', '2m', 0, available('False')), spec: { replicas: 3, paused: true } },
    ],
    at: '7m',
    title: 'Deployment shop/web is down',
    severity: 'error',
  },
  'a lost node after a maintenance': {
    rule: 'lost',
    rules: [
      {
        name: 'lost',
        when: { kind: 'Node' },
        condition: { type: 'Ready', becomes: ['False', 'Unknown'] },
        mute: [{ from: '2026-01-05 11:00', to: '2026-01-05 12:30' }],
        resolve: true,
      },
    ],
    given: [
      node('0s', {}),
      node('1m', { Ready: 'Unknown' }),
      node('61s', { Ready: 'Unknown' }, taints('unreachable')),
    ],
    at: '31m',
    title: 'Node w-1 is not ready.*kubelet',
    severity: 'error',
    end: node('1h', {}),
  },
}

let desk: Desk
beforeAll(() => {
  desk = openDesk()
})
afterAll(() => desk?.[Symbol.dispose]())

const SETS = ruleSetNames().filter((name) => name !== 'audit')
const WATCH = ['Node', 'Pod', 'PersistentVolumeClaim', 'HorizontalPodAutoscaler', 'Deployment']

test.for(Object.entries(LASTING))('%s is described by its state', async ([name, it]) => {
  const { rule, rules, given, at, title, severity, end } = it
  const kinds = rules
    ? { watch: WATCH, rules: rules.map((one) => ({ ...one, to: 'screen' })) }
    : { include: [{ from: SETS.map((set) => `kubeherald:${set}`), to: ['screen'] }] }
  const ended = { at: '2h', notices: 'resolved', text: `/^Resolved: ${title}/` }
  const lasting = { at, rule, text: `/^${title}/`, severity }
  const tests = [
    { name, given, expect: lasting },
    ...(end ? [{ name: `the end of ${name}`, given: [...given, end], expect: [lasting, ended] }] : []),
  ]
  const config = { cluster: 'test', sinks: { screen: { type: 'stdout' } }, ...kinds, tests }
  const file = desk.write('kubeherald.yaml', JSON.stringify(config))
  const { stdout, stderr, code } = await runHere(desk, 'test', '--config', file)
  expect(code, stdout + stderr).toBe(0)
})

test('each rule of the sets that waits is among them', () => {
  const rules = ruleSetNames().flatMap(
    (name) =>
      (
        parse(ruleSetText(name) ?? '', { merge: true }) as {
          rules: { name: string; for?: string; condition?: object }[]
        }
      ).rules,
  )
  const waits = rules.filter((it) => it.for !== undefined || (it.condition && 'for' in it.condition))
  const held = Object.values(LASTING).map(({ rule }) => rule)
  expect(waits.map((it) => it.name).filter((it) => !held.includes(it))).toEqual([])
})
