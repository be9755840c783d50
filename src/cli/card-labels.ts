/** All words of a card, one table per language; a label that one of them lacks does not compile. */

export const LANGUAGES = ['en', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Where a fact of a card comes from. */
export type Provenance = 'enforced' | 'self-reported' | 'gate';

export interface CardLabels {
  readonly title: string;
  readonly newTitle: string;
  readonly digestBroken: string;
  readonly fact: string;
  readonly value: string;
  readonly provenance: string;
  readonly marks: Record<Provenance, string>;
  readonly legend: string;
  readonly run: string;
  readonly outcome: string;
  readonly exitCode: (code: number) => string;
  readonly reason: string;
  readonly role: string;
  readonly unit: string;
  readonly allowedPaths: string;
  readonly base: string;
  readonly config: string;
  readonly candidateOrder: string;
  readonly transport: string;
  readonly quarantine: string;
  readonly changes: string;
  readonly changeCount: (count: number, outside: number) => string;
  readonly verification: string;
  readonly notVerified: string;
  readonly passed: string;
  readonly failed: string;
  readonly workerResult: string;
  readonly hostFallback: string;
  readonly authorised: string;
  readonly notAuthorised: string;
  readonly hostWithinScope: string;
  readonly notRun: string;
  readonly none: string;
  readonly more: (count: number) => string;
  readonly receipt: string;
  readonly receiptDigest: string;
  readonly receiptLater: string;
  readonly genuine: string;
  readonly genuineGate: string;
  readonly review: string;
  readonly reviewGate: string;
  readonly networkByWord: string;
  readonly networkGate: string;
  readonly attempts: string;
  readonly attempt: string;
  readonly cli: string;
  readonly version: string;
  readonly modelRequested: string;
  readonly modelResolved: string;
  readonly modelReported: string;
  readonly isolation: string;
  readonly state: string;
  readonly code: string;
  readonly cliChoice: string;
}

export const LABELS: Record<Language, CardLabels> = {
  en: {
    title: 'agent-exec receipt',
    newTitle: 'agent-exec card, not run yet',
    digestBroken: 'DIGEST BROKEN: this receipt was changed after it was written. Nothing below is proven.',
    fact: 'Fact',
    value: 'Value',
    provenance: 'Provenance',
    marks: { enforced: '*enforced*', 'self-reported': '*self-reported*', gate: '*gate*' },
    legend:
      '*enforced*: made or measured by agent-exec itself · *self-reported*: what the worker or its CLI says of itself, proof of nothing · *gate*: still to be checked by a person or by CI.',
    run: 'Run',
    outcome: 'Outcome',
    exitCode: (code) => `exit code ${code}`,
    reason: 'Reason',
    role: 'Role',
    unit: 'Unit',
    allowedPaths: 'Allowed paths',
    base: 'Base',
    config: 'Config digest',
    candidateOrder: 'Candidate order',
    transport: 'Transport',
    quarantine: 'Quarantine',
    changes: 'Changes',
    changeCount: (count, outside) =>
      `${count === 1 ? '1 path' : `${count} paths`}, ${outside === 0 ? 'all in scope' : `${outside} out of scope`}`,
    verification: 'Verification',
    notVerified: 'not run by agent-exec: run it before you merge',
    passed: 'passed',
    failed: 'failed',
    workerResult: "Worker's result",
    hostFallback: 'Host fallback',
    authorised: 'authorised: the host may do the unit itself',
    notAuthorised: 'not authorised',
    hostWithinScope: 'what the host then does stays within the allowed paths, from this base',
    notRun: 'NOT_RUN',
    none: 'none',
    more: (count) => `and ${count} more`,
    receipt: 'Receipt',
    receiptDigest: 'Receipt digest',
    receiptLater: 'there is none before the run',
    genuine: 'Genuine',
    genuineGate: 'run `agent-exec receipt verify` where you trust the tool and the repository',
    review: 'Review',
    reviewGate: 'somebody has read the change before it is merged',
    networkByWord: 'Network',
    networkGate: 'limited by word only: the worker was told, nothing kept it from the network',
    attempts: 'Attempts',
    attempt: 'Attempt',
    cli: 'CLI',
    version: 'Version',
    modelRequested: 'Model requested',
    modelResolved: 'Model resolved',
    modelReported: 'Model reported',
    isolation: 'Isolation',
    state: 'State',
    code: 'Code',
    cliChoice: "the CLI's choice",
  },
  zh: {
    title: 'agent-exec 回执',
    newTitle: 'agent-exec 任务卡（尚未运行）',
    digestBroken: '摘要不符：此回执写成之后被改动过，以下内容均未得到证明。（DIGEST BROKEN）',
    fact: '事实',
    value: '值',
    provenance: '来源',
    marks: { enforced: '*强制*', 'self-reported': '*自述*', gate: '*待查*' },
    legend:
      '*强制*（enforced）：由 agent-exec 亲自完成或测得 · *自述*（self-reported）：工作者或其 CLI 的自我陈述，不构成证明 · *待查*（gate）：仍须由人或 CI 检查。',
    run: '运行',
    outcome: '结果',
    exitCode: (code) => `退出码 ${code}`,
    reason: '原因',
    role: '角色',
    unit: '单元',
    allowedPaths: '允许的路径',
    base: '基准提交',
    config: '配置摘要',
    candidateOrder: '候选顺序',
    transport: '传输提交',
    quarantine: '隔离提交',
    changes: '变更',
    changeCount: (count, outside) =>
      `${count} 个路径，${outside === 0 ? '全部在允许范围内' : `其中 ${outside} 个超出允许范围`}`,
    verification: '验证',
    notVerified: 'agent-exec 未执行：合并前请执行',
    passed: '通过',
    failed: '未通过',
    workerResult: '工作者的结果',
    hostFallback: '主机接手',
    authorised: '已授权：主机可自行完成该单元',
    notAuthorised: '未授权',
    hostWithinScope: '主机随后的改动须以此基准提交为起点，且不超出允许的路径',
    notRun: 'NOT_RUN',
    none: '无',
    more: (count) => `另有 ${count} 个`,
    receipt: '回执',
    receiptDigest: '回执摘要',
    receiptLater: '运行之前尚无回执',
    genuine: '真实性',
    genuineGate: '请在可信的工具与仓库中执行 `agent-exec receipt verify`',
    review: '审阅',
    reviewGate: '合并前须有人读过此变更',
    networkByWord: '网络',
    networkGate: '仅为口头限制：已告知工作者，但并未阻断其网络',
    attempts: '各次尝试',
    attempt: '尝试',
    cli: 'CLI',
    version: '版本',
    modelRequested: '请求的模型',
    modelResolved: '解析出的模型',
    modelReported: '报告的模型',
    isolation: '隔离级别',
    state: '状态',
    code: '代码',
    cliChoice: '由 CLI 自选',
  },
};
