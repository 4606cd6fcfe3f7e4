import { run } from '@bufbuild/cel'
import { expect, test } from 'vitest'
import { createEngine } from '../../../src/rules/cel/engine.ts'
import { celValue } from '../../../src/rules/cel/values.ts'
import { backOff, crashingPod, deployment, node, oldDeployment } from './objects.ts'

/** Conditions as people write them; each is answered, or fails, as another implementation does. */
const CORPUS: [object: object, old: object | null, conditions: string[]][] = [
  [
    crashingPod,
    null,
    [
      'object.status.phase == "Running"',
      'object.status.phase in ["Failed", "Unknown"]',
      'object.status.containerStatuses.exists(c, c.restartCount > 5)',
      'object.status.containerStatuses.all(c, c.ready)',
      'object.status.containerStatuses.exists(c, has(c.state.waiting) && c.state.waiting.reason == "CrashLoopBackOff")',
      'object.status.containerStatuses.exists(c, c.state.waiting.reason == "CrashLoopBackOff")',
      'object.status.containerStatuses.all(c, c.state.waiting.reason == "CrashLoopBackOff")',
      'object.status.containerStatuses.exists(c, has(c.lastState.terminated) && c.lastState.terminated.exitCode == 137)',
      'object.status.containerStatuses.filter(c, !c.ready).size() == 1',
      'object.status.containerStatuses.map(c, c.restartCount)[0] + 1 == 8',
      'object.status.containerStatuses.exists_one(c, c.restartCount > 0)',
      'object.status.conditions.exists(c, c.type == "Ready" && c.status != "True")',
      'object.status.conditions.filter(c, c.type == "Ready")[0].reason.startsWith("Containers")',
      'has(object.metadata.labels.team) && object.metadata.labels.team == "shop"',
      '"team" in object.metadata.labels',
      'object.metadata.labels["app.kubernetes.io/name"] == "web"',
      'object.metadata.labels.tier == "gold"',
      'has(object.metadata.labels.tier) && object.metadata.labels.tier == "gold"',
      'object.metadata.annotations["prometheus.io/scrape"] == "true"',
      'object.metadata.ownerReferences.exists(o, o.kind == "ReplicaSet" && o.controller)',
      '!has(object.metadata.ownerReferences) || size(object.metadata.ownerReferences) == 0',
      'object.spec.containers.exists(c, c.image.endsWith(":latest"))',
      'object.spec.containers.all(c, c.image.startsWith("registry.example.com/"))',
      'object.spec.containers.exists(c, c.image.matches("^[^/]+/envoy:"))',
      'object.spec.containers.all(c, has(c.resources.limits) && has(c.resources.limits.memory))',
      'object.spec.containers.exists(c, !has(c.resources.limits))',
      'object.spec.containers[0].securityContext.privileged',
      'object.spec.containers[0].securityContext.runAsUser == 0',
      'object.spec.containers.exists(c, has(c.securityContext) && c.securityContext.runAsUser >= 1000)',
      'object.spec.containers.exists(c, c.ports.exists(p, p.containerPort < 1024))',
      'object.spec.containers.all(c, c.ports.all(p, p.containerPort % 2 == 0 || p.containerPort == 15001))',
      'object.spec.containers.map(c, c.name) == ["app", "proxy"]',
      'object.spec.containers.size() == object.status.containerStatuses.size()',
      'object.spec.tolerations[0].tolerationSeconds > 200',
      'object.spec.hostNetwork || object.spec.hostPID',
      'object.spec.hostPID || !object.spec.hostNetwork',
      'timestamp("2026-11-21T06:00:00Z") - timestamp(object.metadata.creationTimestamp) > duration("15m")',
      'timestamp(object.metadata.creationTimestamp).getHours() < 6',
      'object.metadata.name.contains("-x2x4q") && object.metadata.name.size() > 10',
      'object.status.phase == "Running" ? object.spec.nodeName == "worker-3" : false',
      'int(object.metadata.resourceVersion) > 81000',
      'string(object.status.containerStatuses[0].restartCount) == "7"',
      'double(object.status.containerStatuses[0].restartCount) / 2.0 == 3.5',
      'object.status.containerStatuses[0].restartCount * 2 - 4 >= 10',
      'object.status.containerStatuses[5].ready',
      'object.status.containerStatuses[0].restartCount / 0 == 1',
      'object.status.phase > 3',
      'type(object.metadata.labels) == map && type(object.status.containerStatuses[0].restartCount) == int',
      'oldObject == null',
      'oldObject.status.phase != "Running"',
      'object.status.phase == "Running" || oldObject.status.phase != "Running"',
      'oldObject.status.phase != "Running" || object.status.phase == "Running"',
    ],
  ],
  [
    node,
    null,
    [
      'object.status.conditions.exists(c, c.type == "Ready" && c.status != "True")',
      'object.status.conditions.filter(c, c.type != "Ready").all(c, c.status == "False")',
      'has(object.spec.unschedulable) && object.spec.unschedulable',
      'has(object.spec.taints) && object.spec.taints.exists(t, t.effect == "NoExecute" && t.key.startsWith("node.kubernetes.io/"))',
      'object.metadata.labels["topology.kubernetes.io/zone"] in ["eu-1a", "eu-1b"]',
      '"node-role.kubernetes.io/control-plane" in object.metadata.labels',
      'object.metadata.labels.exists(k, k.startsWith("node-role.kubernetes.io/"))',
      'int(object.status.capacity.cpu) >= 8',
      'int(object.status.allocatable.cpu) >= 8',
      'object.status.images.exists(i, i.sizeBytes > 5000000)',
      'object.status.images.map(i, i.names.size()) == [2]',
      'object.spec.podCIDR.matches("^10[.]244[.]")',
    ],
  ],
  [
    deployment,
    oldDeployment,
    [
      'object.spec.replicas != oldObject.spec.replicas',
      'object.spec.replicas > oldObject.spec.replicas + 1',
      'object.spec.template != oldObject.spec.template',
      'object.spec.strategy == oldObject.spec.strategy',
      'object.spec.template.spec.containers.exists(c, oldObject.spec.template.spec.containers.exists(o, o.name == c.name && o.image != c.image))',
      'object.metadata.generation > object.status.observedGeneration',
      'object.status.readyReplicas < object.spec.replicas',
      'object.status.readyReplicas * 100 / object.spec.replicas < 50',
      'object.status.availableReplicas < object.spec.replicas',
      '!has(object.status.availableReplicas) || object.status.availableReplicas < object.spec.replicas',
      'object.status.conditions.exists(c, c.type == "Progressing" && c.reason == "ProgressDeadlineExceeded")',
      'object.spec.strategy.rollingUpdate.maxUnavailable == 1',
      'object.spec.strategy.rollingUpdate.maxSurge == 1',
      'int(object.metadata.annotations["deployment.kubernetes.io/revision"]) > 1',
      '!object.spec.paused && object.spec.replicas > 0',
    ],
  ],
  [
    backOff,
    null,
    [
      'object.type == "Warning" && object.reason in ["BackOff", "Failed"]',
      'object.count >= 3 && object.count % 10 == 1',
      'object.involvedObject.kind == "Pod" && object.involvedObject.fieldPath.contains("{app}")',
      'object.message.matches("(?i)back-off.*container")',
      'timestamp(object.lastTimestamp) - timestamp(object.firstTimestamp) > duration("10m")',
      '!(object.source.component == "kubelet" && object.source.host.startsWith("control-"))',
      'has(object.series) ? object.series.count > 1 : object.count > 1',
    ],
  ],
]

const engine = createEngine({ variables: { object: 'dyn', oldObject: 'dyn' } })

const cases = CORPUS.flatMap(([object, old, conditions]) =>
  conditions.map((text) => [`${(object as { kind: string }).kind}: ${text}`, text, object, old] as const),
)

test.each(cases)('%s', (_title, text, object, oldObject) => {
  expect(ours(text, object, oldObject)).toBe(theirs(text, object, oldObject))
})

test('the corpus is large, and most of it has an answer', () => {
  expect(cases.length).toBeGreaterThanOrEqual(60)
  const answers = cases.map(([, text, object, old]) => ours(text, object, old))
  expect(answers.filter((answer) => answer !== 'error').length / answers.length).toBeGreaterThan(0.8)
})

function ours(text: string, object: object, oldObject: object | null): string {
  const result = engine.compile(text)
  if (!result.ok) return 'error'
  try {
    return String(result.program.run({ object, oldObject }))
  } catch {
    return 'error'
  }
}

function theirs(text: string, object: object, oldObject: object | null): string {
  const value = run(text, { object: celValue(object) as never, oldObject: celValue(oldObject) as never })
  return typeof value === 'boolean' ? String(value) : 'error'
}
