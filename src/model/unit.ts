/** The packet: one bounded unit of work, as the host hands it over (SPEC 4). Path rules live in unit/. */
import * as z from 'zod';

export const UNIT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const EXTERNAL_COSTS = ['none', 'subscription', 'metered'] as const;
export type ExternalCost = (typeof EXTERNAL_COSTS)[number];
export const NETWORKS = ['deny', 'provider-only', 'allow'] as const;
export type Network = (typeof NETWORKS)[number];
/** A unit is bounded: nobody writes longer lists by hand, and whoever generates them wants a directory or a glob. */
export const MAX_ENTRIES = 10_000;

export const unit = z
  .strictObject({
    schema: z.literal('agent-exec-unit/v1').optional(),
    unit_id: z.string().regex(UNIT_ID),
    goal: z.string().refine((text) => text.trim() !== '', 'must not be empty'),
    /** The work told at length, beside the one-line goal. */
    task: z.string().optional(),
    /** What the worker should know and need not do: observed failures, earlier attempts, links. */
    context: z.string().optional(),
    allowed_paths: z.array(z.string()).min(1).max(MAX_ENTRIES),
    verification: z.array(z.array(z.string()).min(1).max(MAX_ENTRIES)).max(MAX_ENTRIES),
    constraints: z.array(z.string()).max(MAX_ENTRIES),
    network: z.enum(NETWORKS),
    external_cost: z.enum(EXTERNAL_COSTS),
    timeout_seconds: z.int().min(1).max(86_400),
  })
  .meta({ id: 'agent-exec-unit/v1', title: 'One bounded unit of work' });
export type Unit = z.infer<typeof unit>;
