export type { Digest, DigestItem, Resolved } from '../delivery.ts'
export type { ChangeType, EventHeader, FieldChange, KubeEvent, ObjectRef } from '../event.ts'
export { printable } from '../printable.ts'
export type { TraceContext } from '../trace-context.ts'
export { outcomeOfStatus } from './answer.ts'
export { type CloudEventAttributes, cloudEventAttributes, cloudEventData } from './cloud-event.ts'
export type { KeyValueStore, Logger, SinkContext, SinkMetrics } from './context.ts'
export { type Duration, type DurationTextOptions, durationText } from './duration.ts'
export { healthOf } from './health.ts'
export { createHttpClient, type HttpClient, type HttpOptions, type HttpRequest, type Reply } from './http.ts'
export { deliverInOrder, type InOrderOptions, renderFault } from './in-order.ts'
export { LANES, laneByObject, orderOf } from './lane.ts'
export { isForbiddenHost } from './link-local.ts'
export { createMask, type Mask, secretsOfHeaders, secretsOfUrl } from './mask.ts'
export type {
  Content,
  Field,
  Link,
  Message,
  Routed,
  RuleSeverity,
  Severity,
  Subject,
  Words,
} from './message.ts'
export { timeOf } from './notice.ts'
export type { Note, Outcome, Reason, Scope } from './outcome.ts'
export type { ProxySetting } from './proxy.ts'
export {
  type ConfigSchema,
  defineSink,
  type Health,
  type Preview,
  type RuleFacts,
  type SchemaIssue,
  type Sink,
  type SinkType,
} from './sink.ts'
export { createSlots, type Slots } from './slots.ts'
export {
  type CompiledTemplate,
  compileTemplate,
  type Template,
  type TemplateOptions,
} from './template/compile.ts'
export { TemplateFault, type TemplateProblem } from './template/fault.ts'
export type { Markup } from './template/markup.ts'
export { type TemplateTextOptions, templateText, templateTree } from './template/schema.ts'
export { compileTree, type TemplateTree } from './template/tree.ts'
export { type TlsOptions, tlsOptions } from './tls-options.ts'
export { type ClientCredentials, createTokenSource, type TokenSource } from './token-source.ts'
