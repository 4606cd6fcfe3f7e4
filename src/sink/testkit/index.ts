export { ConformanceFault } from './assertions.ts'
export type { Faults, Setup, Target } from './bench.ts'
export {
  type Check,
  type CheckResult,
  conformance,
  describeReport,
  type Report,
  runConformance,
} from './conformance.ts'
export { type LogEntry, memoryStore, type TestContext, testContext } from './context.ts'
export {
  type HostileMessage,
  hostileMessages,
  idsIn,
  type MessageParts,
  messageOf,
  type NoticeMessage,
  noticeMessages,
  type SampleOptions,
  sampleMessages,
} from './messages.ts'
