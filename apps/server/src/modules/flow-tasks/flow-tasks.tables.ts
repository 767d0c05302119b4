type TaskType = 'agb' | 'profile' | 'kyc' | 'avatar' | 'phone_verification' | 'email_verification' | 'custom';

export type FlowTaskRow = {
  tenant_id: string;
  id: string;
  type: TaskType;
  name: string;
  target_route: string;
  priority: number;
  is_mandatory: boolean;
  is_active: boolean;
  version: string | null;
  config: Record<string, unknown> & {
    audience?: { groups?: string[]; roles?: ('admin' | 'member')[]; createdBefore?: string };
    from?: string;
    until?: string;
    repeatEveryDays?: number;
  };
  i18n: Record<string, { title?: string; description?: string; buttonText?: string }>;
  resets: number;
  created_at: string;
  updated_at: string;
};

export type Outcome = 'completed' | 'skipped';

export type CompletionRow = {
  tenant_id: string;
  id: string;
  task_id: string;
  user_id: string;
  outcome: Outcome;
  source: 'person' | 'automatic';
  task_type: TaskType;
  task_name: string;
  version: string | null;
  resets: number;
  round: number;
  language: string | null;
  text_hash: string;
  answers: Record<string, unknown> | null;
  ip_address: string | null;
  user_agent: string | null;
  session_id: string;
  completed_at: string;
};

export type PersonRow = {
  tenant_id: string;
  id: string;
  display_name: string;
  full_name: string;
  locale: string;
  phone: string | null;
  is_tenant_admin: boolean;
  status: string;
  created_at: string;
};

export type FlowTaskTables = {
  flow_tasks: FlowTaskRow;
  flow_task_completions: CompletionRow;
  users: PersonRow;
  groups: { tenant_id: string; id: string };
  group_members: { tenant_id: string; group_id: string; user_id: string };
  tenants: { id: string; default_language: string };
};
