import type { Delivery } from '../../model/delivery.ts'
import { logTarget } from '../../watch/logs/log-target.ts'
import type { ConfigSnapshot } from '../config-snapshot.ts'

/** Returns the delivery with a note in the place of the log that `run` would read: dry runs read none. */
export function withLogs({ logsOf }: Pick<ConfigSnapshot, 'logsOf'>, delivery: Delivery): Delivery {
  const settings = logsOf(delivery.rule)
  const target = settings && !delivery.notice && logTarget(delivery.event, delivery.objectJson, settings)
  if (!target) return delivery
  const { container, previous } = target
  const lines = settings.lines === 1 ? 'the last line is' : `the last ${settings.lines} lines are`
  const text = `(${lines} read here when kubeherald runs)`
  return { ...delivery, logs: { ...(container !== undefined && { container }), previous, text } }
}
