import { parsePatterns } from '../rules/pattern.ts'
import { listOf } from '../rules/schema.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import type { Problem } from './problem.ts'

const FAILED = 'write Failed, and message: "*WORD*" beside it'

/**
 * Reasons of containers' states that the kubelet gives no Event (pkg/kubelet/events/event.go,
 * pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go), and the Event that comes instead.
 */
const OF_CONTAINERS: Readonly<Record<string, string>> = {
  CrashLoopBackOff: 'write BackOff, and message: "Back-off restarting failed container*" beside it',
  ImagePullBackOff: 'write BackOff, and message: "Back-off pulling image*" beside it',
  ErrImagePull: FAILED,
  CreateContainerConfigError: FAILED,
  CreateContainerError: FAILED,
  RunContainerError: FAILED,
  OOMKilled: 'it is in the status of the Pod: include: [kubeherald:crash-loops] has a rule for it',
  ContainerCreating: 'it is in the status of the Pod, which a rule for kind: Pod asks',
  PodInitializing: 'it is in the status of the Pod, which a rule for kind: Pod asks',
}

/** Warns of reasons that are those of containers, and never of Events: nothing matches them. */
export function checkReasons({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap(({ index, sound: { reason } }) => {
    const parsed = reason === undefined ? undefined : parsePatterns(reason)
    if (reason === undefined || !parsed?.ok) return []
    return listOf(reason).flatMap((_, at) => {
      const { form, negated, text } = parsed.value[at] ?? { form: '', negated: false, text: '' }
      const known = form === 'literal' && !negated && Object.hasOwn(OF_CONTAINERS, text)
      const path = ['rules', index, 'when', 'reason', ...(typeof reason === 'string' ? [] : [at])]
      if (!known || document.at(path)?.written !== undefined) return []
      const hint = OF_CONTAINERS[text]?.replace('WORD', text)
      const message = `${text} is a state of containers; Kubernetes has no Event with this reason`
      return [document.problem(path, message, { hint, severity: 'warning' })]
    })
  })
}
