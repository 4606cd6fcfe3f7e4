export { memoryStore } from '../memory-store.ts'
export {
  type Check,
  type CheckResult,
  conformance,
  describeReport,
  type Report,
  runConformance,
} from './conformance.ts'
export { type LogEntry, type TestContext, testContext } from './context.ts'
export { ConformanceFault } from './fault.ts'
export { type HostileMessage, hostileMessages } from './hostile.ts'
export { idsIn, type MessageParts, messageOf, type SampleOptions, sampleMessages } from './messages.ts'
export { type NoticeMessage, noticeMessages } from './notices.ts'
export type { Faults, Setup, Target } from './target.ts'
