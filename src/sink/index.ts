export type { ContainerLog, Digest, DigestItem, Resolved, TraceContext } from '../model/delivery.ts'
export type { ChangeType, EventHeader, FieldChange, KubeEvent, ObjectRef } from '../model/event.ts'
export { printable } from '../text/printable.ts'
export { networkFault } from './connectivity.ts'
export { type Duration, type DurationTextOptions, durationText } from './duration.ts'
export {
  createHttpClient,
  type HttpClient,
  type HttpOptions,
  type HttpRequest,
  type Reply,
} from './http-client.ts'
export { outcomeOfStatus } from './http-status.ts'
export { createMask, type Mask, secretsOfHeaders, secretsOfUrl, shownPath } from './mask.ts'
export type {
  Content,
  Field,
  Link,
  Message,
  Routed,
  RuleSeverity,
  Severity,
  Subject,
  Summary,
} from './message.ts'
export {
  type CloudEventAttributes,
  clock,
  cloudEventAttributes,
  cloudEventData,
  endOfLog,
  MAX_SHOWN_CHANGES,
  SEVERITY_SIGNS,
  timeOf,
} from './message.ts'
export {
  createSemaphore,
  deliverInOrder,
  type InOrderOptions,
  LANES,
  laneByKey,
  objectKey,
  orderOf,
  renderFault,
  type Semaphore,
} from './order.ts'
export { markRemover } from './plain-text.ts'
export type { ProxySetting } from './proxy.ts'
export { isForbiddenHost } from './proxy.ts'
export type {
  AcknowledgeAnswer,
  ActionTarget,
  KeyValueStore,
  Logger,
  Markup,
  Note,
  Outcome,
  Reason,
  Scope,
  SilenceAnswer,
  SinkActions,
  SinkContext,
  SinkMetrics,
} from './sink.ts'
export {
  type ConfigSchema,
  defineSink,
  detailOf,
  type Health,
  healthOf,
  type Preview,
  type RuleFacts,
  type SchemaIssue,
  type Sink,
  type SinkType,
} from './sink.ts'
export { TemplateFault, type TemplateProblem } from './template/fault.ts'
export { spanText } from './template/formats.ts'
export {
  type CompiledTemplate,
  compileTemplate,
  compileTree,
  type Template,
  type TemplateOptions,
  type TemplateTextOptions,
  type TemplateTree,
  templateText,
  templateTree,
} from './template/template.ts'
export { endsThread, fromStore, groupByOf, StoreFault, threadGroupOf } from './threads.ts'
export { type TlsOptions, tlsOptions } from './tls-options.ts'
export { type ClientCredentials, createTokenSource, type TokenSource } from './token-source.ts'
