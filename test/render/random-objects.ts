/** Numbers in [0, 1), the same for the same seed. */
export type Chance = () => number

export function pick<T>(chance: Chance, from: readonly T[]): T {
  return from[Math.floor(chance() * from.length)]!
}

const TEXTS = [
  ...['', 'web', 'True', 'False', 'Unknown', 'Ready', 'Failed', 'Running', 'Pending', 'Terminating', 'Bound'],
  ...[
    'CrashLoopBackOff',
    'ImagePullBackOff',
    'OOMKilled',
    'BackOff',
    'Killing',
    'Unhealthy',
    'Warning',
    'Pod',
  ],
  ...['Available', 'Progressing', 'ReplicaFailure', 'Complete', 'Stalled', 'NewReplicaSetAvailable', 'Job'],
  ...['2026-11-21T09:14:00Z', '2026-10-01T08:00:00Z', '2026-99-99T99:99:99Z', 'constructor', '__proto__'],
  ...[
    'a\nb\u001b[31mc',
    '\u202eabc',
    '\ud83d',
    '😀'.repeat(300),
    'x'.repeat(5_000),
    `"'$(x)\`<!channel>`,
    'v1',
    'apps/v1',
  ],
]

export function anyText(chance: Chance): string {
  return pick(chance, TEXTS)
}

const KEYS = [
  ...[
    'metadata',
    'spec',
    'status',
    'name',
    'namespace',
    'kind',
    'labels',
    'annotations',
    'ownerReferences',
    'controller',
  ],
  ...[
    'containers',
    'containerStatuses',
    'initContainerStatuses',
    'state',
    'lastState',
    'waiting',
    'terminated',
    'running',
  ],
  ...[
    'reason',
    'message',
    'type',
    'conditions',
    'lastTransitionTime',
    'restartCount',
    'exitCode',
    'phase',
    'replicas',
  ],
  ...[
    'readyReplicas',
    'updatedReplicas',
    'numberReady',
    'desiredNumberScheduled',
    'template',
    'image',
    'resources',
  ],
  ...[
    'limits',
    'memory',
    'ports',
    'port',
    'rules',
    'host',
    'loadBalancer',
    'ingress',
    'taints',
    'data',
    'binaryData',
  ],
  ...[
    'creationTimestamp',
    'deletionTimestamp',
    'finalizers',
    'generation',
    'observedGeneration',
    'failed',
    'active',
  ],
  ...[
    'regarding',
    'count',
    'firstSeen',
    'lastSeen',
    'fieldPath',
    'apiVersion',
    'schedule',
    'startTime',
    'endpoints',
  ],
  ...[
    'desiredReplicas',
    'currentReplicas',
    'health',
    'status',
    'spec',
    'constructor',
    '__proto__',
    'toString',
    'length',
  ],
]

export function anyValue(chance: Chance, depth: number): unknown {
  const what = chance()
  if (depth > 0 && what < 0.4) return anyMap(chance, depth)
  if (depth > 0 && what < 0.6)
    return Array.from({ length: Math.floor(chance() * 4) }, () => anyValue(chance, depth - 1))
  if (what < 0.85) return anyText(chance)
  return pick(chance, [0, 1, 3, -1, 137, 1e300, 2.5, true, false, null])
}

function anyMap(chance: Chance, depth: number): Record<string, unknown> {
  const length = Math.floor(chance() * 9)
  const entries = Array.from({ length }, () => [pick(chance, KEYS), anyValue(chance, depth - 1)])
  return Object.fromEntries(entries) as Record<string, unknown>
}

const of = (chance: Chance, keys: readonly string[], depth: number): Record<string, unknown> =>
  Object.fromEntries(keys.filter(() => chance() < 0.7).map((key) => [key, anyValue(chance, depth)]))

/** Like an object of Kubernetes in its outlines, so that much of it is read; anything inside. */
export function anyObject(chance: Chance): Record<string, unknown> {
  if (chance() < 0.2) return anyMap(chance, 3)
  const condition = () => of(chance, ['type', 'status', 'reason', 'message', 'lastTransitionTime'], 1)
  const status = {
    ...of(
      chance,
      ['phase', 'readyReplicas', 'updatedReplicas', 'failed', 'active', 'loadBalancer', 'capacity'],
      3,
    ),
    ...(chance() < 0.8 && { conditions: [condition(), condition(), condition()] }),
    ...(chance() < 0.5 && {
      containerStatuses: [of(chance, ['name', 'restartCount', 'state', 'lastState', 'ready'], 2)],
    }),
  }
  const regarding = of(chance, ['kind', 'name', 'namespace', 'apiVersion', 'fieldPath'], 1)
  return {
    metadata: of(
      chance,
      ['creationTimestamp', 'deletionTimestamp', 'labels', 'ownerReferences', 'finalizers'],
      3,
    ),
    spec: of(
      chance,
      ['replicas', 'template', 'containers', 'ports', 'rules', 'schedule', 'taints', 'versions'],
      4,
    ),
    status: chance() < 0.9 ? status : anyValue(chance, 2),
    ...of(chance, ['data', 'type', 'reason', 'message', 'count', 'firstSeen', 'lastSeen', 'endpoints'], 2),
    regarding,
  }
}
