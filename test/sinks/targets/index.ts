import email from '../../../sinks/email/index.ts'
import file from '../../../sinks/file/index.ts'
import kafka from '../../../sinks/kafka/index.ts'
import slack from '../../../sinks/slack/index.ts'
import webhook from '../../../sinks/webhook/index.ts'
import type { SinkType } from '../../../src/sink/index.ts'
import type { Setup } from '../../../src/sink/testkit/index.ts'
import { emailSetup } from './email.ts'
import { fileSetup } from './file.ts'
import { kafkaSetup } from './kafka.ts'
import { slackSetup } from './slack.ts'
import { stdoutUnderTest } from './stdout.ts'
import { webhookSetup } from './webhook.ts'

/** A sink type, and how the conformance kit starts a peer for it. */
export interface SinkUnderTest {
  type: SinkType
  setup: Setup
}

/** The built-in sinks: a line for each. */
export const sinksUnderTest: readonly SinkUnderTest[] = [
  { type: email as SinkType, setup: emailSetup },
  { type: file as SinkType, setup: fileSetup },
  { type: kafka as SinkType, setup: kafkaSetup },
  { type: slack as SinkType, setup: slackSetup },
  stdoutUnderTest(),
  { type: webhook as SinkType, setup: webhookSetup },
]
