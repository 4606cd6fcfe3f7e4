import {
  createDingtalk,
  createLark,
  createMatrix,
  createNtfy,
  createRocketChat,
  createTelegram,
  createWecom,
} from './chats.ts'
import {
  createDatadog,
  createElasticsearch,
  createLoki,
  createSplunk,
  createVictoriaLogs,
} from './log-stores.ts'
import { createIncidentIo, createOncall, createOpsgenie } from './pagers.ts'
import type { Service } from './service.ts'

/** A fake of each service whose limits and errors are known from its documentation or from a real one. */
export const SERVICES: readonly (() => Service)[] = [
  () => createElasticsearch().service,
  () => createLoki().service,
  createVictoriaLogs,
  createSplunk,
  createDatadog,
  () => createOpsgenie().service,
  createIncidentIo,
  createOncall,
  createTelegram,
  createNtfy,
  createRocketChat,
  () => createMatrix().service,
  createLark,
  createDingtalk,
  createWecom,
]
