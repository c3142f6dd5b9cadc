# The administrator, a project and the issues that are there before anybody enters one.
admin = User.find_by(login: ENV['ADMIN'])
admin.password = ENV['PASSWORD']
admin.must_change_passwd = false
admin.mail = ENV['EMAIL']
admin.save!(validate: false)

project = Project.new(name: 'Ward IT', identifier: 'ward-it', is_public: true)
project.enabled_module_names = %w(issue_tracking time_tracking wiki)
project.trackers = Tracker.all
project.save!
%w(Hardware Software).each { |name| IssueCategory.create!(project: project, name: name) }
member = Member.new(project: project, user: admin)
member.roles << Role.givable.first
member.save!
3.times do |place|
  Issue.create!(project: project, tracker: Tracker.first, author: admin, subject: "Old issue #{place}",
                priority: IssuePriority.first, status: IssueStatus.first)
end
