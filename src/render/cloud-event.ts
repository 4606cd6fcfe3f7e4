import type { Delivery } from '../delivery.ts'
import { cloudEventAttributes, cloudEventData } from '../sink/cloud-event.ts'

/** A delivery as CloudEvents 1.0 structured JSON, one line. The object goes in as the bytes that the API server sent. */
export function cloudEvent(delivery: Delivery): Buffer {
  const attributes = JSON.stringify(cloudEventAttributes(delivery))
  return cloudEventData(delivery, { before: `${attributes.slice(0, -1)},"data":`, after: '}' })
}
