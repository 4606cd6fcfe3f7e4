import type { WatchedKind } from './watched-kind.ts'

/** Conditions that Kubernetes itself gives. Others may be added to any kind. */
const OF_KINDS: Readonly<Record<string, readonly string[]>> = {
  Node: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'],
  Pod: ['Ready', 'Initialized', 'PodScheduled', 'ContainersReady', 'DisruptionTarget'],
  Deployment: ['Available', 'Progressing', 'ReplicaFailure'],
  Job: ['Complete', 'Failed', 'Suspended', 'FailureTarget', 'SuccessCriteriaMet'],
  HorizontalPodAutoscaler: ['AbleToScale', 'ScalingActive', 'ScalingLimited'],
  PersistentVolumeClaim: ['Resizing', 'FileSystemResizePending'],
  PodDisruptionBudget: ['DisruptionAllowed'],
  CustomResourceDefinition: ['Established', 'NamesAccepted', 'NonStructuralSchema', 'Terminating'],
  APIService: ['Available'],
}

/** Without a namespace. */
const OF_CLUSTER = ['Node', 'CustomResourceDefinition', 'APIService']

/** The first kind that has such a condition, and a namespace where that is asked for. */
export function kindWithCondition(type: string, { namespaced }: { namespaced: boolean }): string | undefined {
  return Object.keys(OF_KINDS).find(
    (kind) =>
      OF_KINDS[kind]?.some((it) => isSameWord(it, type)) && !(namespaced && OF_CLUSTER.includes(kind)),
  )
}

/** The condition of one of these kinds that is written so but for capitals; undefined where it may be one of its own. */
export function conditionMeant(type: string, kinds: readonly WatchedKind[]): string | undefined {
  if (kinds.some(({ builtIn }) => builtIn.length !== 1)) return undefined
  const known = kinds.flatMap(({ builtIn: [it] }) => OF_KINDS[it?.kind ?? ''] ?? [])
  return known.includes(type) ? undefined : known.find((it) => isSameWord(it, type))
}

function isSameWord(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
